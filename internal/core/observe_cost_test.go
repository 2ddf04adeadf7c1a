package core

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
)

// Without an observer nothing wraps the engine, and nothing is allocated.
func TestNoObserverCostsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	none, some := dibs.Observer{}, dibs.Observer{
		Begin: func(ctx context.Context, _ dibs.Work) (context.Context, func(error)) { return ctx, ended },
	}
	store := &observedStore{}
	if observeStore(store, none) != dibs.Store(store) {
		t.Error("an engine without an observer is wrapped")
	}
	if observeStore(store, some) == dibs.Store(store) {
		t.Error("an engine with an observer is not wrapped")
	}
	r := &router{whole: onePart{store}, parts: make([]dibs.Part, 1), cores: []*core{{}}, observer: &none}
	noCall := func(*core, context.Context, nameQuery) (q dibs.Resolution, err error) { return q, err }
	batch := make([]*call, 64)
	if n := testing.AllocsPerRun(100, func() {
		_, end := beginWork(context.Background(), &none, dibs.Work{Op: "load"})
		end(nil)
		_, end = beginBatch(&none, "batch", batch, func(c *call) context.Context { return c.ctx })
		end(nil)
		_, err := on(context.Background(), r, 0, callWork("resolve", "slug", 1), noCall, nameQuery{"slug", "x"})
		if err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations without an observer", n)
	}
}
