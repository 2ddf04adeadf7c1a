package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// endsAfter is a context that has ended once it was looked at so often.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A command inside a transaction that is given up halfway leaves nothing behind, whatever
// the caller does with the transaction: the name can be had.
func TestACommandGivenUpInATransactionLeavesNothing(t *testing.T) {
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
		given := false
		for looks := 0; !given; looks++ {
			tx, err := r.direct.Begin(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			_, err = pgstore.WithTx(reg, tx).Apply(&endsAfter{context.Background(), looks}, command)
			if given = err == nil; given {
				err = tx.Rollback(context.Background())
			} else if !errors.Is(err, context.Canceled) {
				t.Fatalf("%T, given up after %d looks: %v", command, looks, err)
			} else {
				err = tx.Commit(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"dibs_names", "dibs_entities", "dibs_documents"} {
				if n := ask[int](r, "SELECT count(*) FROM "+r.table(table)+" WHERE rev = 0"); n != 0 {
					t.Fatalf("%T, given up after %d looks, left %d rows in %s", command, looks, n, table)
				}
			}
		}
		if _, err := reg.Apply(context.Background(), command); err != nil {
			t.Errorf("%T: %v", command, err)
		}
	}
}
