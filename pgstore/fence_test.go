package pgstore_test

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/storetest"
)

func TestFence(t *testing.T) {
	t.Parallel()
	for _, level := range suiteLevels() {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := &schemas{dsn: withParam(t, isolation(t, pgtest.Shared(t).DSN("postgres"), level), "pool_max_conns", "6")}
			storetest.RunFence(t, storetest.Harness{Open: s.open, Reopen: s.again, Share: s.again})
		})
	}
}

// A caller's transaction that has changed a name before the fence commits before it. One that has
// not is refused, also if its snapshot is from before.
func TestFenceInATransaction(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
				store := storeOf(t, s)
				early, bound := s.tx(t, level)
				if _, err := bound.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "early"}); err != nil {
					t.Fatal(err)
				}
				late, boundLate := s.tx(t, level)
				if _, err := late.count(t.Context(), "SELECT count(*) FROM "+s.schema+".products"); err != nil { // takes its snapshot
					t.Fatal(err)
				}
				fenced := make(chan error, 1)
				go func() { fenced <- store.Fence(t.Context(), "elsewhere") }()
				s.awaitStatement(t, "ALTER TABLE "+s.schema+".dibs_batches DROP%")
				select {
				case err := <-fenced:
					t.Fatalf("the fence did not wait for a transaction in progress: %v", err)
				default:
				}
				if err := early.commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-fenced; err != nil {
					t.Fatal(err)
				}
				if name, err := s.reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "early"}); err != nil || name.State != dibs.Held {
					t.Errorf("the name from before the fence: %v, %v", name, err)
				}
				_, err := boundLate.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "late"})
				if refused, ok := errors.AsType[*dibs.Error](err); !ok || refused.Cause != record.Moved("elsewhere").Cause {
					t.Errorf("after the fence: %v", err)
				}
			})
		})
	}
}

// awaitStatement waits until a session has sent a statement.
func (s *shop) awaitStatement(t *testing.T, like string) {
	t.Helper()
	await(t, "a session has sent "+like, func() (seen bool) {
		err := s.pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE $1)", like).Scan(&seen)
		return err == nil && seen
	})
}

// storeOf opens a second store on the schema of a shop.
func storeOf(t *testing.T, s *shop) *pgstore.Store {
	t.Helper()
	store, err := pgstore.Open(t.Context(), pgtest.Shared(t).DSN("postgres"), pgstore.Config{Schema: s.name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}
