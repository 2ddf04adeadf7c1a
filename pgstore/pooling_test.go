package pgstore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/storetest"
)

// poolSizes are the sessions that PgBouncer has for all clients of a test, by its mode. In session
// mode every connection has one; in transaction mode stalled commits of several cases keep theirs.
var poolSizes = map[string]int{"session": 60, "transaction": 20}

func TestConformanceBehindPgBouncer(t *testing.T) {
	sequential(t)
	t.Parallel()
	for mode, size := range poolSizes {
		if mode == "session" && longRun() == 0 {
			continue // see TestSessionPooling
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := withParam(t, pgtest.Shared(t).Bouncer(t, mode, size), "pool_max_conns", "3")
			s := &schemas{dsn: dsn, pools: mode == "transaction"}
			storetest.Run(t, storetest.Harness{Open: s.open, Reopen: s.again, Share: s.again, Hold: s.hold, Stall: s.stall})
		})
	}
}

// behindPgBouncer opens two registries on one schema, as in two processes, behind PgBouncer in
// transaction mode with few sessions.
func behindPgBouncer(t *testing.T) (dsn string, registries [2]*dibs.Registry) {
	t.Helper()
	dsn = pgtest.Shared(t).Bouncer(t, "transaction", 3)
	schema := pgtest.Shared(t).NewSchema(t)
	for i := range registries {
		store := must[*pgstore.Store](t)(openPatient(dsn, pgstore.Config{Schema: schema, TransactionPooling: true}))
		registries[i] = must[*dibs.Registry](t)(core.Open(store, dibs.Config{PollEvery: 10 * time.Millisecond}))
		t.Cleanup(func() { _ = registries[i].Close() })
	}
	return dsn, registries
}

// Two processes with twenty connections share three sessions: each name has one owner, and a watch
// in one process gets what the other one commits.
func TestTransactionPooling(t *testing.T) {
	t.Parallel()
	_, registries := behindPgBouncer(t)
	const names, callers = 50, 8
	var winners sync.Map
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for i := range names {
				value := fmt.Sprint("name-", i)
				_, err := registries[caller%2].Claim(t.Context(), claim(value, numbered(1000*caller+i)))
				if err == nil {
					if other, twice := winners.LoadOrStore(value, caller); twice {
						t.Errorf("%s belongs to %v and %d", value, other, caller)
					}
				}
			}
		})
	}
	want := make(map[string]bool)
	for i := range names {
		want[fmt.Sprint("name-", i)] = true
	}
	for event, err := range registries[0].Watch(t.Context(), dibs.FeedQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if delete(want, event.Canonical); len(want) == 0 {
			break
		}
	}
	running.Wait()
	for value := range life(t, registries[1]) {
		_ = must[dibs.Resolution](t)(registries[0].Resolve(t.Context(), "slug", value))
	}
}

// In session mode a connection has a session of its own, so that the store needs no setting: it
// prepares statements, and is notified of what another process commits.
func TestSessionPooling(t *testing.T) {
	t.Parallel()
	at := place{pgtest.Shared(t).Bouncer(t, "session", 30), pgtest.Shared(t).NewSchema(t)}
	const never = time.Hour
	writer, reader := registry(t, at, dibs.Config{}), registry(t, at, dibs.Config{PollEvery: never})
	for value, state := range life(t, writer) {
		if got := coretest.StateOf(t, reader, value); got != state {
			t.Errorf("%s is %s, want %s", value, got, state)
		}
	}
	for event, err := range reader.Watch(t.Context(), dibs.FeedQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Value == "sunday" {
			must[dibs.Hold](t)(writer.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "later"}))
		}
		if event.Value == "later" {
			break
		}
	}
}

// Without the setting, the error names it.
func TestTransactionPoolingMustBeSet(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Shared(t).Bouncer(t, "transaction", 1)
	cfg := pgstore.Config{Schema: pgtest.Shared(t).NewSchema(t), NoNotify: true}
	var err error
	for range 2 { // the second one finds the statements of the first one in the only session
		var store *pgstore.Store
		if store, err = pgstore.Open(t.Context(), dsn, cfg); err == nil {
			t.Cleanup(func() { _ = store.Close() })
			_, err = store.Load(t.Context(), nil)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "dibs_pooling=transaction") {
		t.Errorf("the second store gets %v", err)
	}
}

// Other clients of the pooler get sessions without the store's settings.
func TestTransactionPoolingLeavesSessionsAsTheyWere(t *testing.T) {
	t.Parallel()
	dsn, registries := behindPgBouncer(t)
	direct := settingsOf(t, pgtest.Connect(t, pgtest.Shared(t).DSN("postgres")))
	for i := range 10 {
		if _, err := registries[i%2].Claim(t.Context(), claim(fmt.Sprint("name-", i), numbered(i))); err != nil {
			t.Fatal(err)
		}
	}
	pool := must[*pgxpool.Pool](t)(pgxpool.New(t.Context(), withParam(t, dsn, "default_query_exec_mode", "simple_protocol")))
	t.Cleanup(pool.Close)
	for range 3 { // each transaction keeps another session
		tx := must[pgx.Tx](t)(pool.Begin(t.Context()))
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		if got := settingsOf(t, tx.Conn()); !maps.Equal(got, direct) {
			t.Errorf("a session has %v, want %v", got, direct)
		}
	}
}

func settingsOf(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	const question = "SELECT name, setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout', 'enable_seqscan', 'jit', 'plan_cache_mode')"
	rows, err := conn.Query(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]string)
	var name, value string
	if _, err := pgx.ForEachRow(rows, []any{&name, &value}, func() error { settings[name] = value; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(settings) != 5 {
		t.Fatalf("found only the settings %v", slices.Collect(maps.Keys(settings)))
	}
	return settings
}
