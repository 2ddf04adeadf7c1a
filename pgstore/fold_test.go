package pgstore_test

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
)

// folded is what a reader of the whole feed knows.
type folded struct {
	now   map[string]dibs.Snapshot    // by canonical name
	revs  map[string]uint64           // the last
	kinds map[string][]dibs.EventKind // in order
	by    map[string]string           // who reserved what, by correlation id
}

// readFeed folds the feed. It complains of a name whose revisions have a gap, or come
// twice.
func readFeed(tb testing.TB, reg *dibs.Registry) folded {
	tb.Helper()
	f := folded{make(map[string]dibs.Snapshot), make(map[string]uint64), make(map[string][]dibs.EventKind), make(map[string]string)}
	for query := (dibs.FeedQuery{Limit: 1000}); ; {
		page, err := reg.Events(context.Background(), query)
		if err != nil {
			tb.Fatal(err)
		}
		if len(page.Events) == 0 {
			return f
		}
		for i := range page.Events {
			f.take(tb, &page.Events[i])
		}
		query.After = page.Next
	}
}

func (f *folded) take(tb testing.TB, e *dibs.Event) {
	tb.Helper()
	name := e.Canonical
	if name == "" {
		return // of an entity
	}
	before, known := f.now[name]
	if !known {
		before.State = dibs.Free
	}
	if want := f.revs[name] + 1; e.Rev != want {
		tb.Errorf("the feed has revision %d of %s, want %d", e.Rev, name, want)
	}
	if e.Before != before {
		tb.Errorf("%s %s: it was %+v before, the feed had %+v", e.Kind, name, e.Before, before)
	}
	f.revs[name], f.now[name] = e.Rev, e.After
	f.kinds[name] = append(f.kinds[name], e.Kind)
	if e.Kind == dibs.EventReserved {
		f.by[e.CorrelationID] = name
	}
}

// check holds the feed against what is there.
func (f *folded) check(tb testing.TB, reg *dibs.Registry) {
	tb.Helper()
	there := 0
	for query := (dibs.NamesQuery{Namespace: "slug", Limit: 1000}); ; {
		page, err := reg.List(context.Background(), query)
		if err != nil {
			tb.Fatal(err)
		}
		for _, n := range page.Names {
			there++
			if told := f.now[n.Canonical]; told.State != n.State || told.Status != n.Status || told.Epoch != n.Epoch || told.Entity != n.Entity {
				tb.Errorf("%s is %s, %s of %v: the feed has %+v", n.Canonical, n.State, n.Status, n.Entity, told)
			}
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	if there != len(f.now) {
		tb.Errorf("%d names are there, the feed tells of %d", there, len(f.now))
	}
}
