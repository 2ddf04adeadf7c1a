package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// The server is killed several times under load. All acknowledged changes are in the database and in
// the feed.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	at := place{dsn: cluster.DSN("postgres")}
	// One store finds out unknown outcomes once the server is back, the other has a short timeout and
	// leaves that to its callers.
	patient := registry(t, at, dibs.Config{})
	hasty := registryOn(t, at, pgstore.Config{Timeout: 100 * time.Millisecond}, dibs.Config{})
	j := newJournal(t, patient, hasty)
	stop := j.work()
	for range usually(5, 100) {
		j.awaitProgress(100)
		cluster.Kill(t)
		cluster.Restart(t)
	}
	first := j.awaitProgress(100)
	stop()
	j.check()
	t.Logf("calls succeeded again %v after the last restart", first)
}

// After a restart of an idle server the pool is full of dead connections. No call fails.
func TestRestartOfAnIdleServer(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	reg := registry(t, place{dsn: cluster.DSN("postgres")}, dibs.Config{})
	ask := func(what string) {
		if _, err := reg.IsReserved(t.Context(), "slug", what); err != nil {
			t.Errorf("reading %s: %v", what, err)
		}
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: what}); err != nil {
			t.Errorf("reserving %s: %v", what, err)
		}
	}
	for round := range usually(3, 5) {
		each(callers, func(caller int) { ask(fmt.Sprintf("round-%d-%d", round, caller)) })
		cluster.Kill(t)
		cluster.Restart(t)
		ask(fmt.Sprintf("round-%d-alone", round))
	}
}
