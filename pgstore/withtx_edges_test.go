package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // a driver of another database

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
)

func TestWhatATransactionCannotDo(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		ctx := t.Context()
		tx, bound := s.tx(t, "")
		coretest.CheckUnsupportedInTx(t, bound)

		elsewhere := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{})
		if _, err := pgstore.WithTx(elsewhere, tx.tx).Claim(ctx, claim("spring", product)); !errors.Is(err, dibs.ErrUnsupported) {
			t.Errorf("a registry on another engine: %v", err)
		}
		for _, wrong := range []any{nil, s.pool, "a string", struct{}{}} {
			_, err := pgstore.WithTx(s.reg, wrong).Claim(ctx, claim("spring", product))
			if !errors.Is(err, dibs.ErrUnsupported) || !strings.Contains(err.Error(), "pgx.Tx or a *sql.Tx") {
				t.Errorf("a %T for a transaction: %v", wrong, err)
			}
		}
		s.insert(t, tx, "101") // the transaction is still usable
		s.commit(t, tx)
	})
}

func TestATransactionOnAnotherDatabase(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		// The tables are gone, as in a database that never had them.
		other := openShop(t, pgstore.Config{}, dibs.Config{})
		if _, err := s.pool.Exec(t.Context(), "DROP SCHEMA "+other.schema+" CASCADE"); err != nil {
			t.Fatal(err)
		}
		for verb, call := range map[string]func(*dibs.Registry) error{
			"Claim":   func(reg *dibs.Registry) error { _, err := reg.Claim(t.Context(), claim("spring", product)); return err },
			"Resolve": func(reg *dibs.Registry) error { _, err := reg.Resolve(t.Context(), "slug", "spring"); return err },
			"Events":  func(reg *dibs.Registry) error { _, err := reg.Events(t.Context(), dibs.FeedQuery{}); return err },
		} {
			tx, _ := s.tx(t, "")
			if err := call(pgstore.WithTx(other.reg, tx.tx)); !errors.Is(err, dibs.ErrUnsupported) {
				t.Errorf("%s: %v, want ErrUnsupported", verb, err)
			}
		}
	})
}

// A *sql.Tx does not reveal its driver. The first statement fails.
func TestTransactionOfAnotherDriver(t *testing.T) {
	t.Parallel()
	s := openShop(t, pgstore.Config{}, dibs.Config{})
	db := must[*sql.DB](t)(sql.Open("sqlite", ":memory:"))
	defer db.Close()
	tx := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
	defer tx.Rollback()
	if _, err := pgstore.WithTx(s.reg, tx).Claim(t.Context(), claim("spring", product)); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
}

func TestATransactionThatHasFailedOrIsOver(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		tx, bound := s.tx(t, "")
		must[dibs.Name](t)(bound.Claim(t.Context(), claim("spring", product)))
		if err := tx.exec(t.Context(), "SELECT 1/0"); err == nil {
			t.Fatal("divided by zero")
		}
		check := func(when string, says string) {
			t.Helper()
			for verb, call := range map[string]func() error{
				"Claim":   func() error { _, err := bound.Claim(t.Context(), claim("summer", numbered(102))); return err },
				"Resolve": func() error { _, err := bound.Resolve(t.Context(), "slug", "spring"); return err },
				"Events":  func() error { _, err := bound.Events(t.Context(), dibs.FeedQuery{}); return err },
			} {
				err := call()
				if !errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, dibs.ErrRetryTx) || !strings.Contains(err.Error(), says) {
					t.Errorf("%s, %s: %v", when, verb, err)
				}
			}
		}
		check("failed", "roll the transaction back")
		if err := tx.rollback(); err != nil {
			t.Fatal(err)
		}
		check("rolled back", "the transaction has ended")
		tx, bound = s.tx(t, "")
		s.commit(t, tx)
		check("committed", "the transaction has ended")
		if got := coretest.StateOf(t, s.reg, "spring"); got != dibs.Free {
			t.Errorf("the name is %s", got)
		}
	})
}

func TestAContextThatEndsWhileWaiting(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		open, theirs := s.tx(t, "")
		must[dibs.Name](t)(theirs.Claim(t.Context(), claim("spring", numbered(102))))
		tx, bound := s.tx(t, "")
		must[dibs.Name](t)(bound.Claim(t.Context(), claim("summer", numbered(103))))
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := bound.Claim(ended, claim("autumn", product)); !errors.Is(err, context.Canceled) || !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("ended before: %v", err)
		}
		s.insert(t, tx, "101") // the transaction is still usable

		waiting, end := context.WithCancel(t.Context())
		answer := make(chan error)
		go func() {
			_, err := bound.Claim(waiting, claim("spring", product))
			answer <- err
		}()
		s.awaitLockWait(t)
		end()
		if err := <-answer; !errors.Is(err, context.Canceled) || !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("ended while waiting: %v", err)
		}
		// pgx closes the connection, which ends the transaction.
		if err := tx.commit(); err == nil {
			t.Error("the transaction was committed")
		}
		s.commit(t, open)
		if a, b := coretest.StateOf(t, s.reg, "spring"), coretest.StateOf(t, s.reg, "summer"); a != dibs.Active || b != dibs.Free {
			t.Errorf("spring is %s, summer is %s", a, b)
		}
		must[dibs.Name](t)(s.reg.Claim(t.Context(), claim("summer", product)))
	})
}

// Refusals stay counted, also if they are read in a transaction that is rolled back.
func TestConflictsSurviveARollback(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		tx, bound := s.tx(t, "")
		if _, err := bound.Claim(t.Context(), claim("first", product)); err == nil {
			t.Fatal("not refused")
		}
		must[[]dibs.ConflictBucket](t)(bound.Conflicts(t.Context(), dibs.ConflictsQuery{}))
		if err := tx.rollback(); err != nil {
			t.Fatal(err)
		}
		buckets := must[[]dibs.ConflictBucket](t)(s.reg.Conflicts(t.Context(), dibs.ConflictsQuery{}))
		if len(buckets) != 1 || buckets[0].Count != 1 {
			t.Errorf("%+v", buckets)
		}
	})
}
