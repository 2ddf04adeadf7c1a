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
	const atOnce = 1000
	respelled := 64_000
	if testing.Short() { // with the race detector, say
		respelled = 4000
	}
	s := newTest(t)
	reg, err := core.Open(s, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	owner := dibs.Entity{Type: "user", ID: "1"}
	n := activeName("long", owner)
	mustCommit(t, s, insertGroup(n))
	for range respelled / atOnce {
		later := *n
		later.Rev += atOnce
		g := dibs.Group{Reads: []dibs.Read{{Ref: n.Ref(), Rev: n.Rev}}, Writes: []dibs.Write{{Record: &later}}}
		for i := range atOnce {
			changed := later
			changed.Rev, changed.Value = n.Rev+uint64(i)+1, fmt.Sprint("Long", i%7)
			g.Events = append(g.Events, eventOf(dibs.EventRespelled, &changed))
		}
		mustCommit(t, s, g)
		n = &later
	}
	took := func(what string, bound time.Duration, call func() error) {
		start := time.Now()
		if err := call(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if d := time.Since(start); d > bound {
			t.Errorf("%s took %v, want %v at the most", what, d, bound)
		} else {
			t.Logf("%s took %v", what, d)
		}
	}
	took("a page", 3*time.Second, func() error {
		page, err := reg.HistoryPage(t.Context(), dibs.HistoryQuery{Namespace: n.Namespace, Value: "long"})
		if len(page.Events) != atOnce || page.Next == "" || page.Events[atOnce-1].Rev != n.Rev {
			t.Errorf("%d events, then %q", len(page.Events), page.Next)
		}
		return err
	})
	took("the whole", 10*time.Second, func() error {
		events, err := reg.History(t.Context(), n.Namespace, "long")
		if len(events) != respelled+1 {
			t.Errorf("%d events, want %d", len(events), respelled+1)
		}
		for i, e := range events {
			if e.Rev != uint64(i)+1 {
				t.Fatalf("event %d has revision %d", i, e.Rev)
			}
		}
		return err
	})
	took("who held it", 10*time.Second, func() error {
		holder, err := reg.WhoHeld(t.Context(), n.Namespace, "long", testNow.Time())
		if holder.Entity != owner || !holder.Since.Equal(testNow.Time()) {
			t.Errorf("%+v", holder)
		}
		return err
	})
}
