package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
)

// A name was respelled 64,000 times. The cost of a page of its history depends on the page only, the
// whole history is read once, and WhoHeld does not keep it in memory.
func TestVeryLongHistory(t *testing.T) {
	t.Parallel()
	respelled := 64_000
	if testing.Short() { // with the race detector, say
		respelled = 8000
	}
	s := newTest(t)
	reg, err := core.Open(s, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	owner := dibs.Entity{Type: "user", ID: "1"}
	short := respell(t, s, activeName("short", dibs.Entity{Type: "user", ID: "2"}), perPage)
	n := respell(t, s, activeName("long", owner), respelled)
	page := func(n *dibs.NameRecord, cursor string) dibs.HistoryPage {
		page, err := reg.HistoryPage(t.Context(), dibs.HistoryQuery{Namespace: n.Namespace, Value: n.Canonical, Cursor: cursor})
		if err != nil || len(page.Events) != perPage || page.Next == "" {
			t.Fatalf("%s: %d events, then %q, %v", n.Canonical, len(page.Events), page.Next, err)
		}
		return page
	}
	var deep string // the cursor of the last full page
	walk := func() {
		deep = ""
		for rev := n.Rev; rev > perPage+1; rev -= perPage {
			newer := page(n, deep)
			if last := newer.Events[perPage-1].Rev; last != rev {
				t.Fatalf("the last event of a page has revision %d, want %d", last, rev)
			}
			deep = newer.Next
		}
	}
	walk()

	const attempts, most = 60, 4 // most is a factor far below that of the lengths
	var quick, newest, oldest time.Duration
	for attempt := 1; attempt <= 5 || max(newest, oldest) > most*quick; attempt++ {
		if attempt > attempts {
			t.Fatalf("a page of a short history takes %v, the newest of a long one %v, the oldest %v", quick, newest, oldest)
		}
		faster(&quick, func() { page(short, "") })
		faster(&newest, func() { page(n, "") })
		faster(&oldest, func() { page(n, deep) })
	}
	t.Logf("a page of a short history takes %v, the newest of a long one %v, the oldest %v", quick, newest, oldest)

	// These take about as long as reading page after page. If all newer events were read again for
	// each of the 65 pages, they would take 33 times as long.
	took := func(what string, call func()) {
		var pages, all time.Duration
		for attempt := 1; attempt == 1 || all > most*pages; attempt++ {
			if attempt > 5 {
				t.Errorf("%s took %v, its pages take %v", what, all, pages)
				return
			}
			faster(&pages, walk)
			faster(&all, call)
		}
		t.Logf("%s took %v, its pages %v", what, all, pages)
	}
	took("the whole", func() {
		events, err := reg.History(t.Context(), n.Namespace, "long")
		if err != nil || len(events) != respelled+1 {
			t.Fatalf("%d events, %v, want %d", len(events), err, respelled+1)
		}
		for i, e := range events {
			if e.Rev != uint64(i)+1 {
				t.Fatalf("event %d has revision %d", i, e.Rev)
			}
		}
	})
	took("who held it", func() {
		holder, err := reg.WhoHeld(t.Context(), n.Namespace, "long", testNow.Time())
		if err != nil || holder.Entity != owner || !holder.Since.Equal(testNow.Time()) {
			t.Errorf("%+v, %v", holder, err)
		}
	})
}

// perPage is how many events a page of a history has.
const perPage = 1000

// respell stores a name and changes its spelling this many times.
func respell(t *testing.T, s *Store, n *dibs.NameRecord, times int) *dibs.NameRecord {
	t.Helper()
	mustCommit(t, s, insertGroup(n))
	for range times / perPage {
		later := *n
		later.Rev += perPage
		g := dibs.Group{Reads: []dibs.Read{{Ref: n.Ref(), Rev: n.Rev}}, Writes: []dibs.Write{{Record: &later}}}
		for i := range perPage {
			changed := later
			changed.Rev, changed.Value = n.Rev+uint64(i)+1, fmt.Sprint("Long", i%7)
			g.Events = append(g.Events, eventOf(dibs.EventRespelled, &changed))
		}
		mustCommit(t, s, g)
		n = &later
	}
	return n
}

// faster keeps the time of the fastest call: other tests use the machine as well.
func faster(best *time.Duration, call func()) {
	start := time.Now()
	call()
	if took := time.Since(start); *best == 0 || took < *best {
		*best = took
	}
}
