package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// The lock_timeout of the caller ends the transaction with ErrRetryTx.
func TestLockTimeoutOfTheCaller(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		_, theirs := s.tx(t, "")
		must[dibs.Name](t)(theirs.Claim(t.Context(), claim("spring", numbered(102))))
		tx, bound := s.tx(t, "")
		if err := tx.exec(t.Context(), "SET LOCAL lock_timeout = '5ms'"); err != nil {
			t.Fatal(err)
		}
		if _, err := bound.Claim(t.Context(), claim("spring", product)); !errors.Is(err, dibs.ErrRetryTx) {
			t.Errorf("got %v, want ErrRetryTx", err)
		}
	})
}

// An open transaction does not delay commands for other names.
func TestOpenTransactionLocksItsNames(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		open, bound := s.tx(t, "")
		must[dibs.Name](t)(bound.Claim(ctx, claim("spring", product)))

		tx, second := s.tx(t, "")
		must[dibs.Name](t)(second.Claim(ctx, claim("summer", numbered(102))))
		s.commit(t, tx)
		must[dibs.Name](t)(s.reg.Claim(ctx, claim("autumn", numbered(103))))

		// A command for the same name gives up at its deadline. If that is in the middle of an
		// attempt, the outcome is unknown.
		short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		defer stop()
		_, err := s.reg.Claim(short, claim("spring", numbered(104)))
		if !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("while it is open: %v, want UNAVAILABLE or OUTCOME_UNKNOWN", err)
		}
		s.commit(t, open)
		if _, err := s.reg.Claim(ctx, claim("spring", numbered(104))); !errors.Is(err, dibs.ErrNameTaken) {
			t.Errorf("once it is committed: %v, want NAME_TAKEN", err)
		}

		// Nor does the first name of a namespace.
		open, bound = s.tx(t, "")
		must[dibs.Name](t)(bound.Claim(ctx, dibs.Claim{Namespace: "brand-new", Value: "a", Entity: product}))
		tx, second = s.tx(t, "")
		must[dibs.Name](t)(second.Claim(ctx, dibs.Claim{Namespace: "brand-new", Value: "b", Entity: numbered(105)}))
		s.commit(t, open)
		s.commit(t, tx)
	})
}

// A cancelled command leaves no placeholder in the caller's transaction, and the name is free.
func TestCancelledCommandLeavesNoPlaceholder(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	reg := r.registry(r.store, dibs.Config{})
	owner := user("1")
	commands := []dibs.Command{
		dibs.Reserve{Namespace: "slug", Value: "reserved"},
		dibs.Claim{Namespace: "slug", Value: "claimed", Entity: owner},
		dibs.Rename{Namespace: "slug", Value: "renamed", Entity: owner},
	}
	for _, command := range commands {
		done := false
		for checks := int64(0); !done; checks++ {
			tx, err := r.direct.Begin(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			_, err = pgstore.WithTx(reg, tx).Apply(endsAfter(context.Background(), checks), command)
			if done = err == nil; done {
				err = tx.Rollback(context.Background())
			} else if !errors.Is(err, context.Canceled) {
				t.Fatalf("%T, cancelled at check %d: %v", command, checks, err)
			} else {
				err = tx.Commit(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"dibs_name_rows", "dibs_entities", "dibs_documents"} {
				if n := ask[int](r, "SELECT count(*) FROM "+r.table(table)+" WHERE rev = 0"); n != 0 {
					t.Fatalf("%T, cancelled at check %d: %d placeholders in %s", command, checks, n, table)
				}
			}
		}
		if _, err := reg.Apply(context.Background(), command); err != nil {
			t.Errorf("%T: %v", command, err)
		}
	}
}
