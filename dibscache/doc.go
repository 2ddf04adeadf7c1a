// Package dibscache answers where names lead, and whether they are free, from memory.
//
//	cache, err := dibscache.New(registry, dibscache.Config{MaxStale: 5 * time.Second})
//	…
//	where, err := cache.Resolve(ctx, "slug", "alice-bob")
//
// It is for those who ask much more often than names change: a web server that looks up
// the first part of every path. The registry may be in this process or behind a server.
//
// The cache follows the registry's feed. A change makes void what was remembered of the
// name and its entity, most often within milliseconds. MaxStale is the promise for bad days:
// an answer is never older than that, whatever becomes of the feed, and with the feed cut
// for longer every question goes to the registry. What can change by itself, such as an old
// name that redirects until a date, and all that a server answers, whose policies nobody
// here knows, is asked for again after MaxStale in any case.
//
// Who needs to be sure asks the registry itself: its answers are linearizable.
package dibscache
