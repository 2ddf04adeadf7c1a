package core

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
)

// Without an observer nothing wraps the backend and the engine, and nothing is allocated.
func TestNoObserverCostsNothing(t *testing.T) {
	none, some := dibs.Observer{}, dibs.Observer{
		Begin: func(ctx context.Context, _ dibs.Work) (context.Context, func(error)) { return ctx, ended },
	}
	c, store := &core{}, &observedStore{}
	if observe(c, none) != dibs.EmbeddedBackend(c) || observeStore(store, none) != dibs.Store(store) {
		t.Error("a backend or an engine without an observer is wrapped")
	}
	if observe(c, some) == dibs.EmbeddedBackend(c) || observeStore(store, some) == dibs.Store(store) {
		t.Error("a backend or an engine with an observer is not wrapped")
	}
	batch := make([]*call, 64)
	if n := testing.AllocsPerRun(100, func() {
		_, end := beginWork(context.Background(), &none, dibs.Work{Op: "load"})
		end(nil)
		_, end = beginBatch(&none, "batch", batch, func(c *call) context.Context { return c.ctx })
		end(nil)
	}); n != 0 {
		t.Errorf("%v allocations without an observer", n)
	}
}
