package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/internal/wake"
)

// feed is the events of a store.
type feed struct {
	store     dibs.Store
	policies  *atomic.Pointer[policySet]
	commits   *wake.List // woken after each commit of this process
	pollEvery time.Duration
}

// events returns a page of the feed. With wait it blocks until there is one; if the context
// ends before, Next is after the events that were read meanwhile.
func (f feed) events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if query.Namespace != "" {
		if err := rules.CheckNamespace(query.Namespace); err != nil {
			return dibs.EventPage{}, err
		}
	}
	after, err := f.resolve(ctx, query.After)
	if err != nil {
		return dibs.EventPage{}, err
	}
	query.After = after
	var committed, woken <-chan struct{}
	if wait { // from before the first read on, so that no commit is missed
		wakeCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		committed = f.commits.Subscribe(wakeCtx)
		if waker, ok := unobserved(f.store).(dibs.Waker); ok {
			woken = waker.Wake(wakeCtx)
		}
	}
	for {
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
		select {
		case <-ctx.Done():
			return page, ctx.Err()
		case <-committed: // by this process
		case <-woken: // the engine signals a commit of another process
		case <-time.After(f.pollEvery):
		}
	}
}

// resolve returns the engine's cursor for the end of the feed, or for a moment. It returns others as
// they are.
func (f feed) resolve(ctx context.Context, cursor dibs.Cursor) (dibs.Cursor, error) {
	if cursor == dibs.Latest {
		return f.store.Latest(ctx)
	}
	moment, ok := cursor.Moment()
	if !ok {
		return cursor, nil
	}
	return bisect.Seek(ctx, unobserved(f.store), dibs.InstantOf(moment))
}

// maxScanned is how many events a page may skip to find those of its namespace. The feed has
// no index by namespace: every write would have to maintain it.
const maxScanned = maxPage

// page reads one page. It skips events of other namespaces, about maxScanned at most.
func (f feed) page(ctx context.Context, query dibs.FeedQuery) (dibs.EventPage, error) {
	page := dibs.EventPage{Next: query.After, Generation: f.policies.Load().generation}
	limit := pageSize(query.Limit, defaultPage)
	// Each read is larger than the one before: the events of one namespace are usually few
	// among many.
	for scanned, size := 0, limit; ; size = min(2*size, maxScanned-scanned) {
		events, err := f.store.Events(ctx, dibs.EventQuery{After: page.Next, Limit: size})
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
		scanned += len(events)
		if page.More = len(events) == size; !page.More || scanned >= maxScanned {
			return page, nil
		}
	}
}
