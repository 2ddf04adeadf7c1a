package storetest

import (
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

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
