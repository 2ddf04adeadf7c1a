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

// Fencer is an optional interface of engines that can refuse all commits, in every process, while
// their data moves to another engine.
type Fencer interface {
	// Fence makes every later Commit fail with [Moved], whichever process or caller's transaction
	// makes it. Commits in progress end first, or never happen: once Fence has returned, records
	// and events no longer change. Reads go on. The fence is a document of [KindFence] with the
	// place as its data. Fencing again changes the place.
	Fence(ctx context.Context, place string) error
	// Unfence allows commits again.
	Unfence(ctx context.Context) error
}

// Seeker is an optional interface of engines that find a date in their feed. Without it the
// registry reads the feed from its beginning.
type Seeker interface {
	// Seek returns the cursor just before the first event at or after a date, or the end of the
	// feed [events-seek]. It should read few events, however long the feed is.
	//
	// The feed is in the order of commits, and so nearly in that of dates. Ends and imports are
	// dated back, and show no place: among them Seek may return one that is too early. If the
	// engine's clock was set back, there are several places: any of them is right.
	Seek(ctx context.Context, at Instant) (Cursor, error)
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
