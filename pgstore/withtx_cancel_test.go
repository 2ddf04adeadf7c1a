package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

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
			for _, table := range []string{"dibs_names", "dibs_entities", "dibs_documents"} {
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
