package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Events returns a page of the feed; with wait it blocks until there is one.
func (c *core) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if wait && c.writer == nil {
		return dibs.EventPage{}, dibs.ErrUnsupported // nobody else's commit shows inside a transaction
	}
	return feed{c.store, c.policies, c.commits, c.cfg.PollEvery}.events(ctx, query, wait)
}

// feed is the events of a store.
type feed struct {
	store     dibs.Store
	policies  *atomic.Pointer[policySet]
	commits   *broadcast    // sent when something was committed here
	pollEvery time.Duration // how often to look by itself
}

// events returns a page of the feed; with wait it blocks until there is one. When the context
// ends before that, Next is behind what was looked at meanwhile.
func (f feed) events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if query.Namespace != "" {
		if err := rules.CheckNamespace(query.Namespace); err != nil {
			return dibs.EventPage{}, err
		}
	}
	if query.After == dibs.Latest {
		latest, err := f.store.Latest(ctx)
		if err != nil {
			return dibs.EventPage{}, err
		}
		query.After = latest
	}
	var woken <-chan struct{}
	if waker, ok := unobserved(f.store).(dibs.Waker); ok && wait {
		wakeCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		woken = waker.Wake(wakeCtx)
	}
	for {
		// Before looking, so that nothing is missed between the two.
		committed := f.commits.wait()
		page, err := f.page(ctx, query)
		if err != nil && wait && ctx.Err() != nil {
			page.Next = query.After
		}
		if err != nil || !wait || len(page.Events) > 0 {
			return page, err
		}
		query.After = page.Next
		if page.More {
			continue
		}
		if err := f.await(ctx, committed, woken); err != nil {
			return page, err
		}
	}
}

// maxScanned is how many events a page may pass over to find those of its namespace. The feed
// has no index by namespace: every write would have to keep it.
const maxScanned = maxPage

// page reads one page, and goes on behind events that were not asked for, to some extent.
func (f feed) page(ctx context.Context, query dibs.FeedQuery) (dibs.EventPage, error) {
	page := dibs.EventPage{Next: query.After, Generation: f.policies.Load().generation}
	limit := pageSize(query.Limit)
	// What is read at once grows: most who ask for one namespace are few among many.
	for looked, atOnce := 0, limit; ; atOnce = min(2*atOnce, maxScanned-looked) {
		events, err := f.store.Events(ctx, dibs.EventQuery{After: page.Next, Limit: atOnce})
		if err != nil {
			return dibs.EventPage{}, err
		}
		for _, e := range rules.HideForgotten(events) {
			page.Next = e.Cursor
			if query.Namespace == "" || query.Namespace == e.Namespace {
				page.Events = append(page.Events, e)
			}
			if len(page.Events) == limit {
				page.More = true
				return page, nil
			}
		}
		looked += len(events)
		if page.More = len(events) == atOnce; !page.More || looked >= maxScanned {
			return page, nil
		}
	}
}

// await waits until there may be new events: this registry committed
// something, the engine has heard of another's commit, or it is time to look.
func (f feed) await(ctx context.Context, committed, woken <-chan struct{}) error {
	timer := time.NewTimer(f.pollEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-committed:
	case <-woken:
	case <-timer.C:
	}
	return nil
}
