package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
)

func eventsOrder(e *env) {
	a, b := name("slug", "a", dibs.Active), name("slug", "b", dibs.Active)
	r := entity("", dibs.Entity{Type: "user", ID: "1"})
	e.commit(create(a, b, r))
	var want []dibs.Event
	for range 10 {
		// Names may have several events in one group; their records then skip
		// revisions.
		a1, b1 := next(a, nil), next(b, nil)
		a2, r2 := next(a1, nil), *r
		r2.Rev++
		told := []dibs.Event{
			happened(dibs.EventExpired, a1), happened(dibs.EventExtended, b1),
			aboutEntity(dibs.EventRestored, &r2), happened(dibs.EventReserved, a2),
		}
		e.commit(join(update(b, b1), update(a, a2), update(r, &r2), telling(told...)))
		a, b, r = a2, b1, &r2
		want = append(want, told...)
	}
	e.sameEvents(e.feed(dibs.EventQuery{}), want)
	e.sameEvents(e.feed(dibs.EventQuery{Limit: 3}), want)
}

func eventsPages(e *env) {
	var want []dibs.Event
	for i := range 20 {
		n := name("slug", fmt.Sprint(i), dibs.Active)
		e.commit(claim(n))
		want = append(want, happened(dibs.EventClaimed, n))
	}
	for _, limit := range []int{1, 2, 3, 7, 19, 20, 21} {
		got := e.feed(dibs.EventQuery{Limit: limit})
		cursors := make(map[dibs.Cursor]bool)
		for _, ev := range got {
			cursors[ev.Cursor] = true
		}
		if len(cursors) != len(got) {
			e.Fatalf("%d events have %d cursors, each must have its own", len(got), len(cursors))
		}
		e.sameEvents(got, want)
	}
}

func eventsGapless(e *env) {
	const (
		writers = 8
		commits = 20
		readers = 2
	)
	handles := e.handles()
	var writing atomic.Int32
	writing.Store(writers)
	followers := make([]follower, readers)
	e.together(writers+readers, func(i int) error {
		store := handles[i%len(handles)]
		if i >= writers {
			return followers[i-writers].follow(e.Context(), store, func() bool { return writing.Load() == 0 })
		}
		defer writing.Add(-1)
		return write(e.Context(), store, fmt.Sprint(i), commits)
	})
	for _, f := range followers {
		for i := range writers {
			for _, canonical := range []string{fmt.Sprint(i), fmt.Sprintf("%d too", i)} {
				if last := f.last[dibs.NameID("slug", canonical)]; last != commits {
					e.Fatalf("a reader saw the events of %q up to revision %d, it must see all %d", canonical, last, commits)
				}
			}
		}
	}
}

// write commits changes to two names, each time with an event of each.
func write(ctx context.Context, store dibs.Store, canonical string, commits int) error {
	a, b := name("slug", canonical, dibs.Active), name("slug", canonical+" too", dibs.Active)
	g := join(claim(a), claim(b))
	for range commits {
		if err := mustCommit(ctx, store, g); err != nil {
			return err
		}
		var ga, gb dibs.Group
		ga, a = touch(a)
		gb, b = touch(b)
		g = join(ga, gb)
	}
	return nil
}

// follower reads the feed and records the last revision of each name.
type follower struct {
	last map[dibs.ID]uint64
}

// follow reads until done reports that no events will follow and a page is empty.
func (f *follower) follow(ctx context.Context, store dibs.Store, done func() bool) error {
	f.last = make(map[dibs.ID]uint64)
	query := dibs.EventQuery{Limit: 7}
	for {
		over := done() // called before reading, so that the last page cannot be missed
		events, err := store.Events(ctx, query)
		if err != nil {
			return fmt.Errorf("Events: %w", err)
		}
		for _, ev := range events {
			if want := f.last[ev.ID] + 1; ev.Rev != want {
				return fmt.Errorf("a reader that resumes from its last cursor got revision %d of %s, it must get %d: each once, in order",
					ev.Rev, ev.Key(), want)
			}
			f.last[ev.ID] = ev.Rev
			query.After = ev.Cursor
		}
		if over && len(events) == 0 {
			return nil
		}
	}
}

func eventsHistory(e *env) {
	n, other := name("slug", "a", dibs.Active), name("slug", "b", dibs.Active)
	e.commit(claim(n), claim(other))
	want := []dibs.Event{happened(dibs.EventClaimed, n)}
	grow := func() {
		var g, o dibs.Group
		g, n = touch(n)
		o, other = touch(other)
		e.commit(g, o)
		want = append(want, happened(dibs.EventExtended, n))
	}
	for range 12 {
		grow()
	}
	was := slices.Clone(want)
	slices.Reverse(was)
	for _, limit := range []int{1, 4, 13, 50} {
		query := dibs.EventQuery{Name: n.ID, Limit: limit}
		var got []dibs.Event
		for page := e.page(query); len(page) > 0 && len(got) <= len(was); page = e.page(query) {
			got = append(got, page...)
			query.After = got[len(got)-1].Cursor
			grow() // none of these is older than what was read
		}
		e.sameEvents(got, was)
		was = slices.Clone(want)
		slices.Reverse(was)
	}
	e.sameEvents(e.history(n.ID), want)
}

func eventsHistoryOfGroup(e *env) {
	n := name("slug", "a", dibs.Active)
	e.commit(create(n))
	var want []dibs.Event
	for range 3 {
		var told []dibs.Event
		from := n
		for range 20 {
			n = next(n, nil)
			told = append(told, happened(dibs.EventExtended, n))
		}
		e.commit(join(update(from, n), telling(told...)))
		want = append(want, told...)
	}
	e.sameEvents(e.history(n.ID), want)
	slices.Reverse(want)
	for _, limit := range []int{1, 7, 20, 21, 60} {
		e.sameEvents(e.feed(dibs.EventQuery{Name: n.ID, Limit: limit}), want)
	}
}

// eventsCost measures pages in a short history or feed and in a long one. One fast
// measurement of many is enough: other tests use the machine as well.
// Only some engines find a date in their feed.
func eventsSeek(e *env) {
	seeker, ok := e.store.(bisect.Seeker)
	if !ok {
		return
	}
	seek := func(at dibs.Instant) dibs.Cursor {
		cursor, err := seeker.Seek(e.Context(), at)
		if err != nil {
			e.Fatalf("Seek: %v", err)
		}
		return cursor
	}
	start := e.now()
	if found := e.page(dibs.EventQuery{After: seek(start), Limit: 1}); len(found) > 0 {
		e.Fatalf("an empty feed has %v after a date", found)
	}
	const dates, each = 40, 3 // of each date there are several events
	at := func(i int) dibs.Instant { return start.Add(time.Duration(i) * time.Second) }
	for i := range dates {
		var group dibs.Group
		for j := range each {
			n := name("slug", fmt.Sprintf("%d-%d", i, j), dibs.Active)
			told := happened(dibs.EventClaimed, n)
			told.At = at(i)
			group = join(group, create(n), telling(told))
		}
		e.commit(group)
	}
	feed := e.feed(dibs.EventQuery{})
	for i := 0; i < dates; i += 13 {
		for _, date := range []dibs.Instant{at(i), at(i).Add(-time.Millisecond)} {
			if found := e.page(dibs.EventQuery{After: seek(date), Limit: 1}); len(found) == 0 || found[0].Cursor != feed[i*each].Cursor {
				e.Fatalf("after the date of event %d comes %v", i*each, found)
			}
		}
	}
	if found := e.page(dibs.EventQuery{After: seek(at(dates)), Limit: 1}); len(found) > 0 {
		e.Fatalf("after the last date comes %v", found)
	}
}

func eventsCost(e *env) {
	const (
		few, many = 8, 80 // groups, each with this many events
		events    = 50
		attempts  = 60
		most      = 4                      // a factor far below ten
		noise     = 100 * time.Microsecond // below this, differences do not count
	)
	long := func(canonical string, groups int) *dibs.NameRecord {
		n := name("slug", canonical, dibs.Active)
		e.commit(create(n))
		for range groups {
			var told []dibs.Event
			from := n
			for range events {
				n = next(n, nil)
				told = append(told, happened(dibs.EventExtended, n))
			}
			e.commit(join(update(from, n), telling(told...)))
		}
		return n
	}
	// The page in the middle of a history, or deep in the feed.
	after := func(query dibs.EventQuery, skip int) dibs.EventQuery {
		for left := skip; left > 0; {
			query.Limit = min(left, 1000)
			page := e.page(query)
			query.After = page[len(page)-1].Cursor
			left -= len(page)
		}
		query.Limit = 10
		return query
	}
	short, tall := long("few", few), long("many", many)
	for what, pages := range map[string][2]dibs.EventQuery{
		"the end of a history":    {{Name: short.ID, Limit: 10}, {Name: tall.ID, Limit: 10}},
		"the middle of a history": {after(dibs.EventQuery{Name: short.ID}, few*events/2), after(dibs.EventQuery{Name: tall.ID}, many*events/2)},
		"the feed":                {after(dibs.EventQuery{}, 10), after(dibs.EventQuery{}, (few+many)*events-20)},
	} {
		var quick [2]time.Duration // the fastest measurement of each
		for attempt := 1; attempt == 1 || quick[1] > most*quick[0] && quick[1] > noise; attempt++ {
			if attempt > attempts {
				e.Fatalf("a page of 10 of %s takes %v, and %v when there are %d times as many events: its cost must depend on the page only", what, quick[0], quick[1], many/few)
			}
			for i, query := range pages {
				start := time.Now()
				if got := len(e.page(query)); got != 10 {
					e.Fatalf("a page of %s has %d events, it must have 10", what, got)
				}
				if took := time.Since(start); attempt == 1 || took < quick[i] {
					quick[i] = took
				}
			}
		}
		e.Logf("a page of 10 of %s: %v, and %v", what, quick[0], quick[1])
	}
}

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
