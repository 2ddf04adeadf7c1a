package dibs

func bindTo(store Store, bind func(Store) (Store, error)) (Store, error) {
	if b, ok := store.(Binder); ok {
		return b.Bind(bind)
	}
	return bind(store)
}
