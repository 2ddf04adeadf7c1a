package dibs

// Partitioned is an optional interface of stores that consist of several engines, such as
// that of package routestore. A scope is in one of them, always the same. Each engine has a
// clock of its own, and may be slow or gone by itself; so the registry has a writer, a
// reader and a sweeper for each, and no command is about two.
type Partitioned interface {
	Store
	// Parts returns the engines, always the same in the same order.
	Parts() []Part
	// PartOf returns which of them has a scope, by its index.
	PartOf(scope string) int
}

// Part is one engine of a [Partitioned] store.
type Part struct {
	Name  string // for errors and logs
	Store Store  // the engine; cursors of its events are those of the whole store
}

// Binder is an optional interface of stores that stand in front of an engine. Bind gives
// the engine to bind, which binds it to a transaction of the caller's, and returns a store
// that stands in front of the result; see [Registry.InTransaction].
type Binder interface {
	Bind(bind func(Store) (Store, error)) (Store, error)
}
