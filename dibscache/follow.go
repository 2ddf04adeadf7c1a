package dibscache

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
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
	began := f.now()
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
		f.entries.clear() // forgotten names must leave the memory, too
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
	f.entries.clear()
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

// slotCount is the number of slots. If two names share one, an event of either invalidates
// the entries of both.
const slotCount = 1 << 16

// invalidations record which page of the feed last had an event of a name or an entity. Each
// of these has a slot by its hash, so an event does not need to find the entries that it
// invalidates, and also invalidates answers that are still on their way.
type invalidations struct {
	pages atomic.Uint64            // how many pages were added
	all   atomic.Uint64            // the last page that invalidated everything
	last  [slotCount]atomic.Uint64 // the last page with an event of the slot
}

// add adds a page of events, and reports whether it invalidates everything. With all set it
// does.
func (v *invalidations) add(events []dibs.Event, all bool) (invalidatesAll bool) {
	if len(events) == 0 && !all {
		return false
	}
	page := v.pages.Load() + 1
	for i := range events {
		e := &events[i]
		// This event does not contain the entity, and earlier events of the name are erased:
		// so the entries that depend on the name are not known.
		all = all || e.Kind == dibs.EventForgotten
		if !e.ID.IsZero() {
			v.last[slotOf(e.ID)].Store(page)
		}
		for _, entity := range []dibs.Entity{e.Entity, e.Before.Entity, e.After.Entity} {
			if !entity.IsZero() {
				v.last[slotOf(dibs.EntityID(e.Scope, entity))].Store(page)
			}
		}
	}
	if all {
		v.all.Store(page)
	}
	v.pages.Store(page)
	return all
}

// affect reports whether a page since the entry's invalidates the entry. If not, it is so up to
// the last page: the slots are then not looked up again before the next one.
func (v *invalidations) affect(e *entry) bool {
	pages, seen := v.pages.Load(), e.pages.Load()
	if pages == seen {
		return false
	}
	if v.all.Load() > seen || v.last[e.dependsOn[0]].Load() > seen || v.last[e.dependsOn[1]].Load() > seen {
		return true
	}
	e.pages.Store(pages)
	return false
}

// slotOf returns the slot of a name or an entity, whose ID is a hash.
func slotOf(id dibs.ID) uint32 { return binary.BigEndian.Uint32(id[:]) % slotCount }
