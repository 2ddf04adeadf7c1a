package storetest

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// reopen closes the store and opens its data again. It reports whether it could.
func (e *env) reopen() bool {
	e.Helper()
	if e.harness.Reopen == nil {
		e.Logf("not run: the harness has no Reopen, so the engine has no disk")
		return false
	}
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	e.store = e.closing(e.harness.Reopen(e.TB, e.store, e.clock))
	return true
}

// crash opens the data of the store again, without closing the store if the
// harness can do that. It reports whether it could.
func (e *env) crash() bool {
	e.Helper()
	if e.harness.Crash == nil {
		return e.reopen()
	}
	e.store = e.closing(e.harness.Crash(e.TB, e.store, e.clock))
	return true
}

func commitDurable(e *env) {
	const workers = 4
	kept := make([][]dibs.Record, workers)
	store := e.store
	e.together(workers, func(i int) error {
		for round := range 5 {
			n := name("slug", fmt.Sprintf("%d-%d", i, round), dibs.Active)
			d := document(dibs.KindTally, n.Canonical)
			if err := mustCommit(e.Context(), store, join(claim(n), create(d))); err != nil {
				return err
			}
			kept[i] = append(kept[i], n, d)
		}
		return nil
	})
	gone := kept[0][0].(*dibs.NameRecord)
	e.commit(remove(gone))
	if !e.crash() {
		return
	}
	e.lacks(gone)
	e.has(kept[0][1:]...)
	for _, records := range kept[1:] {
		e.has(records...)
	}
	if events := e.feed(dibs.EventQuery{}); len(events) != workers*5-1 {
		e.Fatalf("%d events are left of %d that were committed", len(events), workers*5-1)
	}
}

func reopenKeeps(e *env) {
	n := fullName("acme.slug", "a", standing{dibs.Active, dibs.StatusConfirmed})
	r, d := fullEntity(), fill(new(dibs.Document))
	d.Kind = "storetest"
	// The due dates are in this order, and all are reached.
	n.Due, r.Due, d.Due = e.now()-3, e.now()-2, e.now()-1
	odd := oddNames()
	told := fullEvent(dibs.EventConfirmed, n)
	e.commit(join(create(n, r, d), telling(told, fullEntityEvent(dibs.EventArchived))))
	e.commit(create(odd...))
	before := e.feed(dibs.EventQuery{})
	if !e.reopen() {
		return
	}
	e.has(n, r, d)
	e.has(odd...)
	e.isDue(10, n, r, d)
	e.owns("acme", n.Owner, 10, n)
	e.lists(dibs.ListQuery{Kind: "storetest", Limit: 10}, d)
	e.lists(dibs.ListQuery{Kind: dibs.KindName, Namespace: "slug", Limit: 1000}, odd...)
	after := e.feed(dibs.EventQuery{})
	e.sameEvents(after, before)
	for i := range after {
		if after[i].Cursor != before[i].Cursor {
			e.Fatalf("event %d has cursor %q, it had %q before the store was opened again", i+1, after[i].Cursor, before[i].Cursor)
		}
	}
}

func reopenContinues(e *env) {
	n, gone := name("slug", "a", dibs.Active), name("slug", "gone", dibs.Active)
	e.commit(claim(n))
	g, n2 := touch(n)
	e.commit(g)
	e.commit(claim(gone))
	seen := e.feed(dibs.EventQuery{})
	last := seen[len(seen)-1].Cursor
	if !e.reopen() {
		return
	}
	// After the newest event is deleted and the store is opened again, the
	// cursor of that event must not be used a second time.
	e.commit(remove(gone))
	e.reopen()
	e.sameEvents(e.feed(dibs.EventQuery{After: last}), nil)
	e.stale("the record has a later revision", g)
	g, n3 := touch(n2)
	e.commit(g)
	e.has(n3)
	e.sameEvents(e.feed(dibs.EventQuery{After: last}), []dibs.Event{happened(dibs.EventExtended, n3)})
	e.commit(claim(gone))
	e.sameEvents(e.feed(dibs.EventQuery{After: last}), []dibs.Event{
		happened(dibs.EventExtended, n3), happened(dibs.EventClaimed, gone),
	})
}
