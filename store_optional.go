package dibs

import "context"

// Pinger is an optional interface of engines that can check their connection.
type Pinger interface {
	// Ping returns nil if the engine answers.
	Ping(ctx context.Context) error
}

// Scrubber is an optional interface of engines that can remove deleted data from their files.
type Scrubber interface {
	// Scrub leaves nothing of deleted records and events in the engine's files.
	Scrub(ctx context.Context) error
}

// Clock is an optional interface of engines that know their time without a round trip. With it
// the registry can decide before it has loaded records, on guesses that Commit checks: a common
// command then costs one round trip instead of two.
type Clock interface {
	// Now estimates the clock with which Commit compares windows; ok is false while there is no
	// estimate. A wrong estimate only makes commits stale.
	Now() (now Instant, ok bool)
}

// Parallel is an optional interface of engines that take several commits at once.
type Parallel interface {
	// Writers returns how many batches should be in progress at once; see [Config.Writers].
	Writers() int
}

// Waker is an optional interface of engines that notice commits of other processes.
type Waker interface {
	// Wake returns a channel that receives when there may be new events, until the context
	// ends. It is a hint: readers also poll.
	Wake(ctx context.Context) <-chan struct{}
}

// Partitioned is an optional interface of stores that consist of several engines, such as that
// of package routestore. Each scope is always in the same engine. Each engine has its own clock
// and may be slow or unavailable by itself, so the registry has a writer, a reader and a
// sweeper for each, and no command spans two of them.
type Partitioned interface {
	Store
	// Parts returns the engines, always the same in the same order.
	Parts() []Part
	// PartOf returns the index of the part that has a scope.
	PartOf(scope string) int
}

// Part is one engine of a [Partitioned] store.
type Part struct {
	Name  string // for errors and logs
	Store Store  // the engine; the cursors of its events are those of the whole store
}

// Binder is an optional interface of stores that wrap an engine.
type Binder interface {
	// Bind calls bind with the wrapped engine and returns a store that wraps the result, an
	// engine bound to a transaction of the caller; see [Registry.InTransaction].
	Bind(bind func(Store) (Store, error)) (Store, error)
}
