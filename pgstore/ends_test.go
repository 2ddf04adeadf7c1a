package pgstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/endtest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// A confirmation in time waits for a standby past the end of the hold. No process reports meanwhile
// that the hold has expired.
func TestConfirmationWaitsForAStandby(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	at := place{dsn: cluster.DSN("postgres")}
	clock := connect(t, withParam(t, at.dsn, "synchronous_commit", "off")) // it waits for no standby
	advance := func(statement string) {
		t.Helper()
		if _, err := clock.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	advance("CREATE SEQUENCE clock START 1800000000000; SELECT nextval('clock')")
	cfg := pgstore.Config{ClockSQL: "(SELECT last_value FROM public.clock)"}
	here, there := registryOn(t, at, cfg, dibs.Config{}), registryOn(t, at, cfg, dibs.Config{})
	hold := must[dibs.Hold](t)(here.Reserve(t.Context(), dibs.Reserve{Namespace: endtest.Namespace, Value: endtest.Value, TTL: dibs.For(time.Minute)}))
	confirmed := make(chan error, 1)
	cluster.WithoutStandby(t, func() {
		go func() {
			_, err := here.Confirm(context.Background(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "1"}})
			confirmed <- err
		}()
		// Other commits wait too, such as those of the feed.
		await(t, "the commit of a name waits for the standby", func() (waits bool) {
			err := clock.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity JOIN pg_locks USING (pid)
				WHERE wait_event = 'SyncRep' AND relation = 'dibs.dibs_name_rows'::regclass AND mode = 'RowExclusiveLock')`).Scan(&waits)
			return err == nil && waits
		})
		advance("SELECT setval('clock', last_value + 61000) FROM clock")
		var asking sync.WaitGroup
		for _, reg := range []*dibs.Registry{there, here} {
			asking.Go(func() { endtest.Unanswered(t, reg, hold.Token) })
		}
		asking.Wait()
	})
	if err := <-confirmed; err != nil {
		t.Errorf("the confirmation: %v", err)
	}
	endtest.Confirmed(t, there, hold)
}

// A commit whose wait for the standby is cancelled is not acknowledged: the standby may never get
// it. Another commit, which waits as well, finds out the outcome.
func TestCancelledWaitForAStandby(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	reg := registry(t, place{dsn: cluster.DSN("postgres")}, dibs.Config{})
	must[dibs.Name](t)(reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "first", Entity: dibs.Entity{Type: "user", ID: "1"}}))
	conn := must[*pgx.Conn](t)(pgx.Connect(t.Context(), cluster.DSN("postgres")))
	defer func() { _ = conn.Close(context.Background()) }()
	answered := make(chan error, 1)
	cluster.WithoutStandby(t, func() {
		go func() {
			_, err := reg.Claim(context.Background(), dibs.Claim{Namespace: "slug", Value: "second", Entity: dibs.Entity{Type: "user", ID: "2"}})
			answered <- err
		}()
		for cancelled := 0; cancelled < 3; { // the commit, and those that ask for its outcome
			select {
			case err := <-answered:
				t.Fatalf("answered after %d cancelled waits: %v", cancelled, err)
			case <-time.After(2 * time.Millisecond):
			}
			var n int
			if err := conn.QueryRow(t.Context(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
				WHERE wait_event = 'SyncRep' AND application_name = 'dibs'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			cancelled += n
		}
	})
	if err := <-answered; err != nil {
		t.Errorf("without a synchronous standby: %v", err)
	}
}
