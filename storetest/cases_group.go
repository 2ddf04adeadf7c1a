package storetest

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

func commitAtomic(e *env) {
	gone, changed := name("slug", "gone", dibs.Active), name("slug", "changed", dibs.Alias)
	e.commit(claim(gone), claim(changed))
	fresh, d := name("slug", "fresh", dibs.Active), document(dibs.KindNamespace, "slug")
	touched, changed2 := touch(changed)
	e.commit(join(remove(gone), touched, claim(fresh), create(d)))

	e.has(changed2, fresh, d)
	e.lacks(gone)
	e.lists(dibs.ListQuery{Kind: dibs.KindName, Limit: 10}, changed2, fresh)
	e.owns("", fresh.Owner, 10, fresh)
	e.sameEvents(e.feed(dibs.EventQuery{}), []dibs.Event{
		happened(dibs.EventClaimed, changed), happened(dibs.EventExtended, changed2), happened(dibs.EventClaimed, fresh),
	})
}

func commitAtomicWatched(e *env) {
	// Every commit moves a marker between two documents, and adds an event.
	counter := name("slug", "counter", dibs.Active)
	marker := func(rev uint64) *dibs.NameRecord {
		n := name("slug", []string{"left", "right"}[rev%2], dibs.Held)
		n.Rev = rev
		return n
	}
	e.commit(join(claim(counter), create(marker(1))))
	handles := e.handles()
	n := counter
	var told dibs.Event // the last event of the counter that was read
	observe := func(store dibs.Store) error {
		const limit = 1000
		for {
			events, err := store.Events(e.Context(), dibs.EventQuery{After: told.Cursor, Limit: limit})
			if len(events) > 0 {
				told = events[len(events)-1]
			}
			if err != nil || len(events) < limit {
				return err
			}
		}
	}
	e.whileWriting(func(int) error {
		var g dibs.Group
		from := n
		g, n = touch(n)
		return mustCommit(e.Context(), handles[0], join(create(marker(n.Rev)), remove(marker(from.Rev)), g))
	}, func(round int) error {
		store := handles[round%len(handles)]
		if err := observe(store); err != nil {
			return err
		}
		found, err := loadAll(e.Context(), store, refsOf(counter, marker(0), marker(1))...)
		if err != nil {
			return err
		}
		if len(found) != 2 {
			return fmt.Errorf("one record is created while another is deleted, and Load saw %d of the two", len(found)-1)
		}
		rev := found[counter.Ref()].Revision()
		if rev < told.Rev {
			return fmt.Errorf("the event of revision %d was in the feed before the record, which had %d", told.Rev, rev)
		}
		if err := observe(store); err != nil {
			return err
		}
		if told.Rev < rev {
			return fmt.Errorf("the record had revision %d before its event was in the feed, which ended with %d", rev, told.Rev)
		}
		return nil
	})
}

func commitDelete(e *env) {
	owner := dibs.Entity{Type: "user", ID: "1"}
	n, kept := ownedBy(owner, "slug", "a", dibs.Active), name("slug", "b", dibs.Active)
	r, d := entity("", owner), document(dibs.KindTally, "a")
	n.Due, r.Due, d.Due = e.now(), e.now(), e.now()
	e.commit(join(claim(n), create(r, d), claim(kept)))
	for range 3 { // a history of several events
		g, later := touch(n)
		e.commit(g)
		n = later
	}
	e.commit(remove(n, r, d))

	e.lacks(n, r, d)
	e.has(kept)
	e.lists(dibs.ListQuery{Kind: dibs.KindName, Limit: 10}, kept)
	e.lists(dibs.ListQuery{Kind: dibs.KindTally, Limit: 10})
	e.owns("", owner, 10)
	e.isDue(10)
	e.sameEvents(e.history(n.ID), nil)
	e.sameEvents(e.feed(dibs.EventQuery{}), []dibs.Event{happened(dibs.EventClaimed, kept)})

	// A later name does not inherit the history.
	heir := name("slug", "heir", dibs.Active)
	e.commit(claim(heir))
	e.sameEvents(e.history(heir.ID), []dibs.Event{happened(dibs.EventClaimed, heir)})
	e.sameEvents(e.feed(dibs.EventQuery{}), []dibs.Event{happened(dibs.EventClaimed, kept), happened(dibs.EventClaimed, heir)})

	// A record created again under the same ID is new: no old event returns.
	back := next(n, func(n *dibs.NameRecord) { n.Rev = 9 })
	e.commit(claim(back))
	e.has(back)
	e.sameEvents(e.history(n.ID), []dibs.Event{happened(dibs.EventClaimed, back)})
}

func commitDeleteStory(e *env) {
	first := name("slug", "a", dibs.Active)
	n := next(next(first, nil), nil)
	told := []dibs.Event{
		happened(dibs.EventClaimed, first), happened(dibs.EventExtended, next(first, nil)), happened(dibs.EventExtended, n),
	}
	e.commit(join(create(n), telling(told...)))
	g, n2 := touch(n)
	e.commit(g)
	told = append(told, happened(dibs.EventExtended, n2))
	e.sameEvents(e.history(n.ID), told)
	e.sameEvents(e.feed(dibs.EventQuery{}), told)
	e.commit(remove(n2))
	e.sameEvents(e.history(n.ID), nil)
	e.sameEvents(e.feed(dibs.EventQuery{}), nil)
}

func commitDeleteCursors(e *env) {
	var names []*dibs.NameRecord
	for i := range 6 {
		n := name("slug", fmt.Sprint(i), dibs.Active)
		e.commit(claim(n))
		names = append(names, n)
	}
	before := e.feed(dibs.EventQuery{})
	record := document(dibs.KindNamespace, "slug")
	e.commit(join(remove(names[0], names[2], names[5]), create(record))) // first, middle, last
	e.has(record)

	left := []dibs.Event{before[1], before[3], before[4]}
	after := e.feed(dibs.EventQuery{})
	e.sameEvents(after, left)
	for i := range after {
		if after[i].Cursor != left[i].Cursor {
			e.Fatalf("the event of %s has cursor %q, it had %q before others were deleted", after[i].Key(), after[i].Cursor, left[i].Cursor)
		}
	}
	// Readers at a deleted event resume from there, also at the very end, and
	// newer events come after all cursors that were returned.
	e.sameEvents(e.feed(dibs.EventQuery{After: before[5].Cursor}), nil)
	fresh := name("slug", "fresh", dibs.Active)
	e.commit(claim(fresh))
	left = append(left, happened(dibs.EventClaimed, fresh))
	for i, rest := range [][]dibs.Event{left, left[1:], left[1:], left[2:], left[3:], left[3:]} {
		e.sameEvents(e.feed(dibs.EventQuery{After: before[i].Cursor}), rest)
	}
}

// gives returns the next revision of n with another owner or state.
func gives(n *dibs.NameRecord, owner dibs.Entity, state dibs.State) *dibs.NameRecord {
	return next(n, func(n *dibs.NameRecord) { n.Owner, n.State, n.Status = owner, state, statusOf(state) })
}

func commitRename(e *env) {
	for i, many := range []bool{false, true} {
		owner := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		line := dibs.NameID("line", fmt.Sprint(i))
		if !many {
			line = dibs.ID{}
		}
		with := func(n *dibs.NameRecord) *dibs.NameRecord {
			n.Terms.Many, n.Line = many, line
			return n
		}
		a := with(ownedBy(owner, "slug", fmt.Sprintf("a%d", i), dibs.Active))
		b := with(ownedBy(owner, "slug", fmt.Sprintf("b%d", i), dibs.Alias))
		e.commit(create(a, b))
		a2, b2 := gives(a, owner, dibs.Alias), gives(b, owner, dibs.Active)
		e.commit(join(update(b, b2), yield(a, a2))) // the name that becomes active comes first
		e.has(a2, b2)
		a3, b3 := gives(a2, owner, dibs.Active), gives(b2, owner, dibs.Alias)
		e.commit(join(yield(b2, b3), update(a2, a3)))
		e.has(a3, b3)

		// To a new name, from one that is deleted or becomes free.
		c := with(ownedBy(owner, "slug", fmt.Sprintf("c%d", i), dibs.Active))
		a4 := gives(a3, owner, dibs.Quarantined)
		a4.Until = e.now() + 1
		e.commit(join(create(c), yield(a3, a4)))
		e.has(a4, b3, c)
		d := with(ownedBy(owner, "slug", fmt.Sprintf("d%d", i), dibs.Active))
		gone := remove(c)
		gone.Writes[0].Yields = true
		e.commit(join(create(d), gone))
		e.lacks(c)
		e.owns("", owner, 10, b3, d)
	}
}

func commitSwap(e *env) {
	for round, order := range [][]int{{0, 1}, {1, 0}, {0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}} {
		count := len(order)
		names := make([]*dibs.NameRecord, count)
		for i := range names {
			owner := dibs.Entity{Type: "user", ID: fmt.Sprintf("%d-%d", round, i)}
			names[i] = ownedBy(owner, "slug", fmt.Sprintf("%d-%d", round, i), dibs.Active)
			e.commit(create(names[i]))
		}
		var g dibs.Group
		rotated := slices.Clone(names)
		for _, i := range order {
			rotated[i] = gives(names[i], names[(i+1)%count].Owner, dibs.Active)
			g = join(g, yield(names[i], rotated[i]))
		}
		e.commit(g)
		for i, n := range rotated {
			e.has(n)
			e.owns("", names[(i+1)%count].Owner, 10, n)
		}
	}
}
