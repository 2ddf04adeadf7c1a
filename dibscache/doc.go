// Package dibscache answers Resolve and Check from memory.
//
//	cache, err := dibscache.New(registry, dibscache.Config{MaxStale: 5 * time.Second})
//	…
//	resolution, err := cache.Resolve(ctx, "slug", "alice-bob")
//
// It is for programs that read names much more often than names change, such as a web server
// that resolves the first part of every path. The registry may be embedded or on a server.
//
// The cache follows the registry's feed. An event invalidates the entries of its name and
// its entity, usually within milliseconds. An answer is never older than MaxStale, whatever
// happens to the feed: if the cache cannot read the feed for longer, every question goes to
// the registry. Some entries are always refreshed after MaxStale: those that can change
// without an event, such as an old name that redirects until a date, and all answers of a
// server, whose policies the cache cannot see.
//
// The registry itself gives linearizable answers: use it where an answer must not be stale.
package dibscache
