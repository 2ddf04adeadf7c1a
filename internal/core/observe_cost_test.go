package core

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
)

// Without an observer there are no wrappers and no allocations.
func TestNoObserverCostsNothing(t *testing.T) {
	none, some := dibs.Observer{}, dibs.Observer{
		Begin: func(ctx context.Context, _ dibs.Work) (context.Context, func(error)) { return ctx, ended },
	}
	c, store := &core{}, &observedStore{}
	if observe(c, none) != dibs.EmbeddedBackend(c) || observeStore(store, none) != dibs.Store(store) {
		t.Error("without an observer the backend or the store is wrapped")
	}
	if observe(c, some) == dibs.EmbeddedBackend(c) || observeStore(store, some) == dibs.Store(store) {
		t.Error("with an observer the backend or the store is not wrapped")
	}
	w, r := &writer{observer: &none}, &reader{observer: &none}
	batch, looks := make([]*call, 64), make([]*question, 64)
	if n := testing.AllocsPerRun(100, func() {
		_, end := beginWork(context.Background(), &none, dibs.Work{Op: "load"})
		end(nil)
		_, end = w.begin(batch)
		end(nil)
		_, end = r.begin(looks)
		end(nil)
	}); n != 0 {
		t.Errorf("%v allocations without an observer", n)
	}
}
