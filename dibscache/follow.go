package dibscache

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

const (
	pageSize = 1000

	// leastPause is the time between two looks at the feed, however much happens: each
	// look costs as much as some answers.
	leastPause = 5 * time.Millisecond
)

// follower reads the feed.
type follower struct {
	*Cache
	after      dibs.Cursor
	generation uint64 // see [dibs.EventPage]
	failing    bool
}

// follow notes what happens, until the context ends. While the feed cannot be read the
// answers grow old, and soon none is given any more.
func (c *Cache) follow(ctx context.Context) {
	f := follower{Cache: c, after: dibs.Latest}
	for ctx.Err() == nil {
		more, err := f.look(ctx)
		if ctx.Err() != nil {
			return
		}
		f.report(err)
		switch {
		case err != nil:
			_ = backoff.Sleep(ctx, c.every())
		case !more:
			f.await(ctx)
		}
	}
}

// every is how often to look at the feed: often enough that one look that takes its time
// makes no answer too old.
func (c *Cache) every() time.Duration { return max(c.maxStale/4, leastPause) }

// look reads the next page, and reports whether there may be more.
func (f *follower) look(ctx context.Context) (more bool, err error) {
	began := f.clock.now()
	ctx, cancel := context.WithTimeout(ctx, max(f.maxStale, time.Second))
	defer cancel()
	page, err := f.registry.Events(ctx, dibs.FeedQuery{After: f.after, Limit: pageSize})
	if errors.Is(err, dibs.ErrBadCursor) { // the registry is another one, restored from a copy for example
		f.startOver()
	}
	if err != nil {
		return false, err
	}
	// A feed that begins at its end does not tell what was before, and one that was cut for
	// long may tell less than happened: what is purged takes its events along.
	missed := f.after == dibs.Latest || began-f.followed.Load() > int64(f.maxStale)
	if f.marks.note(page.Events, missed || page.Generation != f.generation) {
		f.answers.InvalidateAll() // what was forgotten is not kept here either
	}
	f.after, f.generation = page.Next, page.Generation
	f.knows.Store(f.generation != 0)
	if more = page.More; !more {
		f.followed.Store(began) // all that was committed by then is noted
	}
	return more, nil
}

// startOver forgets everything: nobody knows what has happened.
func (f *follower) startOver() {
	f.followed.Store(longAgo)
	f.marks.note(nil, true)
	f.answers.InvalidateAll()
	f.after = dibs.Latest
}

// await waits until it is time to look again: at the latest after a while, and soon after
// something was committed where the registry is in this process. A server would have to be
// asked for that in a connection of its own.
func (f *follower) await(ctx context.Context) {
	_ = backoff.Sleep(ctx, leastPause)
	if f.generation == 0 {
		_ = backoff.Sleep(ctx, f.every()-leastPause)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.every())
	defer cancel()
	if _, err := f.registry.AwaitEvents(ctx, dibs.FeedQuery{After: f.after, Limit: 1}); err != nil {
		<-ctx.Done() // also if it failed at once: the next look says why
	}
}

// report tells when the feed breaks, and when it is back.
func (f *follower) report(err error) {
	switch {
	case err != nil && !f.failing:
		f.logger.Warn("dibs: the cache cannot follow the feed, every question will go to the registry", "error", err)
	case err == nil && f.failing:
		f.logger.Info("dibs: the cache follows the feed again")
	}
	f.failing = err != nil
}
