package pgstore_test

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
)

// folded is the state that the events of the feed add up to.
type folded struct {
	now   map[string]dibs.Snapshot    // by canonical name
	revs  map[string]uint64           // the last
	kinds map[string][]dibs.EventKind // in order
	by    map[string]string           // reserved names by correlation id
}

// readFeed folds the feed. The revisions of a name must have no gap and no repetition.
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
		return // an event of an entity
	}
	before, known := f.now[name]
	if !known {
		before.State = dibs.Free
	}
	if want := f.revs[name] + 1; e.Rev != want {
		tb.Errorf("the feed has revision %d of %s, want %d", e.Rev, name, want)
	}
	if e.Before != before {
		tb.Errorf("%s %s: Before is %+v, the feed had %+v", e.Kind, name, e.Before, before)
	}
	f.revs[name], f.now[name] = e.Rev, e.After
	f.kinds[name] = append(f.kinds[name], e.Kind)
	if e.Kind == dibs.EventReserved {
		f.by[e.CorrelationID] = name
	}
}

// check compares the feed with the stored names.
func (f *folded) check(tb testing.TB, reg *dibs.Registry) {
	tb.Helper()
	names := 0
	for query := (dibs.NamesQuery{Namespace: "slug", Limit: 1000}); ; {
		page, err := reg.List(context.Background(), query)
		if err != nil {
			tb.Fatal(err)
		}
		for _, n := range page.Names {
			names++
			if want := f.now[n.Canonical]; want.State != n.State || want.Status != n.Status || want.Epoch != n.Epoch || want.Entity != n.Entity {
				tb.Errorf("%s is %s, %s of %v: the feed has %+v", n.Canonical, n.State, n.Status, n.Entity, want)
			}
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	if names != len(f.now) {
		tb.Errorf("%d names, the feed has %d", names, len(f.now))
	}
}
