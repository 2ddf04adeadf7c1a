//go:build unix

package crashtest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/harness"
)

// wrongFlows are programs that do not do what the documentation says. Each is right until it is killed.
var wrongFlows = []flow{
	{
		name: "a name outside of the transaction", policies: products,
		prepare: createProducts, act: addProductFirst, crashed: wantTogether, resume: addProductAgain, check: func(*world) {},
	},
	{
		name: "an entity without a witness", policies: noWitness,
		prepare: empty, act: simpleDo, resume: sweepLater, check: wantWeddingOrNothing,
	},
	{
		name: "another token", policies: accounts,
		prepare: empty, act: signUpAnew, resume: signUpAnew, check: wantAccount,
	},
	{
		name: "a rename in two steps", policies: slugs,
		prepare: claimOld, act: renameByHand, crashed: wantSomeName, resume: renameByHand, check: func(*world) {},
	},
}

// addProductFirst commits the product, and then claims its name.
func addProductFirst(w *world) {
	tx := w.begin()
	w.check(doOnly(w.life, write("INSERT"), func() error { return tx.exec("INSERT INTO products VALUES (101)") }))
	w.check(doOnly(w.life, write("COMMIT"), tx.commit))
	w.apply(claim("slug", "kite", product))
	w.tell("added")
}

func noWitness(*world) map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {DefaultTTL: time.Minute}}
}

// signUpAnew makes a new token each time, instead of saving one first.
func signUpAnew(w *world) {
	holds, err := w.registry().ReserveAll(w.ctx(), dibs.ReserveAll{Token: dibs.NewToken(), Reservations: signUpNames})
	if errors.Is(err, dibs.ErrNameTaken) && w.told("signed up") {
		return
	}
	w.check(err)
	w.save("payment", "")
	_, err = w.registry().ConfirmAll(w.ctx(), holds, account)
	w.check(err)
	w.tell("signed up")
}

// renameByHand gives up the old name, and claims the new one.
func renameByHand(w *world) {
	if w.name("slug", "new").State == dibs.Active {
		return
	}
	if w.name("slug", "old").State == dibs.Active {
		w.apply(dibs.Decommission{Namespace: "slug", Value: "old", Entity: ann})
	}
	w.apply(claim("slug", "new", ann))
}

// wantSomeName demands that Ann has a name.
func wantSomeName(w *world) {
	w.Helper()
	if w.name("slug", "old").State != dibs.Active && w.name("slug", "new").State != dibs.Active {
		w.Error("Ann has no name")
	}
}

// TestWrongFlowsAreNoticed demands that kills show what is wrong with each of the wrong flows.
func TestWrongFlowsAreNoticed(t *testing.T) {
	t.Parallel()
	for i := range wrongFlows {
		t.Run(wrongFlows[i].name, func(t *testing.T) {
			t.Parallel()
			c := &crash{T: t, flow: &wrongFlows[i], engine: engines["sqlite"], kills: new(atomic.Int64)}
			for n := range c.uninterrupted() {
				run := harness.New(context.Background())
				err := run.Do(func() { c.killed(t, run, n+1, true) })
				if err := errors.Join(err, run.Close()); err != nil {
					t.Logf("killed after step %d: %v", n+1, err)
					return
				}
			}
			t.Error("no kill shows that it is wrong")
		})
	}
}
