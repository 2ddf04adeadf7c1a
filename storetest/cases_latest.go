package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// latest returns the cursor of the end of the feed.
func (e *env) latest() dibs.Cursor {
	e.Helper()
	latest, err := e.store.Latest(e.Context())
	if err != nil {
		e.Fatalf("Latest: %v", err)
	}
	return latest
}

func eventsLatest(e *env) {
	beginning := e.latest()
	var want []dibs.Event
	for i := range 5 {
		end := e.latest()
		n := name("slug", fmt.Sprint(i), dibs.Active)
		e.commit(claim(n))
		told := happened(dibs.EventClaimed, n)
		want = append(want, told)
		e.sameEvents(e.feed(dibs.EventQuery{After: end}), []dibs.Event{told})
		e.sameEvents(e.feed(dibs.EventQuery{After: e.latest()}), nil)
	}
	e.sameEvents(e.feed(dibs.EventQuery{After: beginning}), want)

	// When the newest event is deleted, the end of the feed does not move back.
	n := name("slug", "4", dibs.Active)
	e.commit(remove(n))
	e.sameEvents(e.feed(dibs.EventQuery{After: e.latest()}), nil)
	again := name("slug", "again", dibs.Active)
	end := e.latest()
	e.commit(claim(again))
	e.sameEvents(e.feed(dibs.EventQuery{After: end}), []dibs.Event{happened(dibs.EventClaimed, again)})
}

// eventsLatestAmongWriters has writers read the end of the feed before and after each of
// their commits: its event must come after the first and not after the second.
func eventsLatestAmongWriters(e *env) {
	const (
		writers = 6
		commits = 6
	)
	handles := e.handles()
	e.together(writers, func(i int) error {
		ctx, store := e.Context(), handles[i%len(handles)]
		for c := range commits {
			n := name("slug", fmt.Sprintf("%d of %d", c, i), dibs.Active)
			before, err := store.Latest(ctx)
			if err != nil {
				return fmt.Errorf("Latest: %w", err)
			}
			if err := mustCommit(ctx, store, claim(n)); err != nil {
				return err
			}
			after, err := store.Latest(ctx)
			if err != nil {
				return fmt.Errorf("Latest: %w", err)
			}
			if err := stands(ctx, store, n, before, true); err != nil {
				return err
			}
			if err := stands(ctx, store, n, after, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// stands checks whether a name's event comes after a cursor.
func stands(ctx context.Context, store dibs.Store, n *dibs.NameRecord, cursor dibs.Cursor, behind bool) error {
	events, err := store.Events(ctx, dibs.EventQuery{After: cursor, Limit: 1000})
	if err != nil {
		return fmt.Errorf("Events: %w", err)
	}
	if got := slices.ContainsFunc(events, func(ev dibs.Event) bool { return ev.ID == n.ID }); got != behind {
		return fmt.Errorf("event after the end of the feed that was read: %v, must be %v", got, behind)
	}
	return nil
}
