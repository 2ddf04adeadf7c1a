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

	// minInterval is the least time between two reads of the feed, however many events there
	// are: a read costs as much as several answers.
	minInterval = 5 * time.Millisecond
)

// follower reads the feed.
type follower struct {
	*Cache
	after      dibs.Cursor
	generation uint64 // see [dibs.EventPage]
	failing    bool
}

// follow reads the feed until the context ends. While the feed cannot be read, the entries
// become too old.
func (c *Cache) follow(ctx context.Context) {
	f := follower{Cache: c, after: dibs.Latest}
	for ctx.Err() == nil {
		more, err := f.read(ctx)
		if ctx.Err() != nil {
			return
		}
		f.log(err)
		switch {
		case err != nil:
			_ = backoff.Sleep(ctx, c.interval())
		case !more:
			f.await(ctx)
		}
	}
}

// interval is the time between two reads of the feed: short enough that one slow read makes
// no entry too old.
func (c *Cache) interval() time.Duration { return max(c.maxStale/4, minInterval) }

// read reads the next page, and reports whether there may be more.
func (f *follower) read(ctx context.Context) (more bool, err error) {
	began := f.clock.now()
	ctx, cancel := context.WithTimeout(ctx, max(f.maxStale, time.Second))
	defer cancel()
	page, err := f.registry.Events(ctx, dibs.FeedQuery{After: f.after, Limit: pageSize})
	if errors.Is(err, dibs.ErrBadCursor) { // another registry, for example one restored from a backup
		f.startOver()
	}
	if err != nil {
		return false, err
	}
	// A feed that starts at its end lacks earlier events, and one that was not read for long
	// may lack some, since a purge removes events.
	missed := f.after == dibs.Latest || began-f.followedUntil.Load() > int64(f.maxStale)
	if f.invalidations.add(page.Events, missed || page.Generation != f.generation) {
		f.entries.InvalidateAll() // forgotten names must leave the memory, too
	}
	f.after, f.generation = page.Next, page.Generation
	f.seesPolicies.Store(f.generation != 0)
	if more = page.More; !more {
		f.followedUntil.Store(began) // every earlier commit is in the invalidations
	}
	return more, nil
}

// startOver drops all entries, since any event may be missing.
func (f *follower) startOver() {
	f.followedUntil.Store(longAgo)
	f.invalidations.add(nil, true)
	f.entries.InvalidateAll()
	f.after = dibs.Latest
}

// await waits until the next read is due: after the interval at the latest, and soon after a
// commit of an embedded registry. A server would need another connection for that.
func (f *follower) await(ctx context.Context) {
	_ = backoff.Sleep(ctx, minInterval)
	if f.generation == 0 {
		_ = backoff.Sleep(ctx, f.interval()-minInterval)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.interval())
	defer cancel()
	if _, err := f.registry.AwaitEvents(ctx, dibs.FeedQuery{After: f.after, Limit: 1}); err != nil {
		<-ctx.Done() // the next read returns the error
	}
}

// log logs when the cache loses the feed, and when it follows it again.
func (f *follower) log(err error) {
	switch {
	case err != nil && !f.failing:
		f.logger.Warn("dibs: the cache cannot read the feed; every question will go to the registry", "error", err)
	case err == nil && f.failing:
		f.logger.Info("dibs: the cache follows the feed again")
	}
	f.failing = err != nil
}
