package core

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// InTransaction returns a core on the store that bind returns, which is bound to a
// transaction of the caller.
func (c *core) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	store, err := bindEngine(unobserved(c.store), bind)
	if err != nil {
		return nil, err
	}
	store = observeStore(store, c.cfg.Observer)
	ends := &pastEnds{store: store}
	return &core{
		policies: policies{c.current, store}, cfg: c.cfg, store: store, ends: ends,
		tx:        &committer{store: store, ends: ends},
		conflicts: c.conflicts, suggestions: newSingleFlight(),
	}, nil
}

// bindEngine binds an engine, or the engine behind a store that wraps one.
func bindEngine(store dibs.Store, bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	if b, ok := store.(dibs.Binder); ok {
		return b.Bind(bind)
	}
	return bind(store)
}

// IsBound reports whether the core is bound to a transaction of the caller.
func (c *core) IsBound() bool { return c.tx != nil }

// refuseBound returns an error if the core is bound to a transaction of the caller.
func (c *core) refuseBound(what string) error {
	if c.IsBound() {
		return fmt.Errorf("%w: %s inside a transaction of the caller", dibs.ErrUnsupported, what)
	}
	return nil
}
