package core

import "github.com/calldibs/dibs"

func bindTo(store dibs.Store, bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	if b, ok := store.(dibs.Binder); ok {
		return b.Bind(bind)
	}
	return bind(store)
}
