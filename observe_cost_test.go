package dibs

import (
	"context"
	"testing"
)

// Who is not observed does not pay for it: nothing stands in between, and nothing is
// allocated.
func TestNoObserverCostsNothing(t *testing.T) {
	none, some := Observer{}, Observer{
		Begin: func(ctx context.Context, _ Work) (context.Context, func(error)) { return ctx, ended },
	}
	c, store := &core{}, &observedStore{}
	if observe(c, none) != EmbeddedBackend(c) || observeStore(store, none) != Store(store) {
		t.Error("something stands between a registry that nobody observes and its engine")
	}
	if observe(c, some) == EmbeddedBackend(c) || observeStore(store, some) == Store(store) {
		t.Error("nothing tells an observer")
	}
	w, r := &writer{observer: &none}, &reader{observer: &none}
	batch, looks := make([]*call, 64), make([]*question, 64)
	if n := testing.AllocsPerRun(100, func() {
		_, end := beginWork(context.Background(), &none, Work{Op: "load"})
		end(nil)
		_, end = w.begin(batch)
		end(nil)
		_, end = r.begin(looks)
		end(nil)
	}); n != 0 {
		t.Errorf("%v allocations for nobody", n)
	}
}
