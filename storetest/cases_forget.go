package storetest

import (
	"github.com/calldibs/dibs"
)

// another returns the record that replaces n under the same ID.
func another(n *dibs.NameRecord, canonical string) *dibs.NameRecord {
	other := name(n.Namespace, canonical, dibs.Quarantined)
	other.ID, other.Rev, other.Epoch, other.Owner, other.Established = n.ID, n.Rev+1, n.Epoch, dibs.Entity{}, false
	return other
}

func commitRenew(e *env) {
	n, kept := name("slug", "m", dibs.Active), name("slug", "k", dibs.Active)
	n.Meta, n.CorrelationID, n.Principal = map[string]string{"a": "b"}, "order", "shop"
	e.commit(claim(n), claim(kept))
	for range 3 {
		g, later := touch(n)
		e.commit(g)
		n = later
	}
	before := e.feed(dibs.EventQuery{})
	// Once to a name that sorts before the others in a listing, once to one after them.
	for _, canonical := range []string{"\x7f" + n.ID.String(), "z"} {
		other := another(n, canonical)
		told := happened(dibs.EventForgotten, other)
		e.commit(join(renew(n, other), telling(told)))
		e.has(other)
		e.sameEvents(e.history(n.ID), []dibs.Event{told})
		e.sameEvents(e.feed(dibs.EventQuery{}), []dibs.Event{happened(dibs.EventClaimed, kept), told})
		e.lists(dibs.ListQuery{Kind: dibs.KindName, Limit: 10}, kept, other)
		for _, event := range before {
			e.sameEvents(e.page(dibs.EventQuery{After: event.Cursor, Name: other.ID, Limit: 10}), nil)
		}
		n = other
	}
	// Its history continues as any other, and is deleted as a whole.
	g, later := touch(n)
	e.commit(g)
	e.sameEvents(e.history(n.ID), []dibs.Event{happened(dibs.EventForgotten, n), happened(dibs.EventExtended, later)})
	e.commit(remove(later))
	e.sameEvents(e.feed(dibs.EventQuery{}), []dibs.Event{happened(dibs.EventClaimed, kept)})
}

func commitRenewOwned(e *env) {
	owner := dibs.Entity{Type: "user", ID: "1"}
	n, r := ownedBy(owner, "slug", "a", dibs.Active), entity("", owner)
	n.Due, r.Active = e.now(), map[string]dibs.ID{"slug": n.ID}
	e.commit(join(claim(n), create(r)))

	tomb := &dibs.EntityRecord{ID: r.ID, Rev: 2, Deleted: true}
	other := another(n, "\x7f"+n.ID.String())
	g := join(renew(n, other), renew(r, tomb), telling(happened(dibs.EventForgotten, other)))
	g.Writes[0].Yields = true
	e.commit(g)
	e.has(other, tomb)
	e.owns("", owner, 10)
	e.isDue(10)

	// The entity comes back with another name.
	back := entity("", owner)
	back.Rev = 3
	fresh := ownedBy(owner, "slug", "b", dibs.Active)
	e.commit(join(renew(tomb, back), claim(fresh)))
	e.has(back, fresh)
	e.owns("", owner, 10, fresh)
}

func commitRenewStale(e *env) {
	n := name("slug", "a", dibs.Active)
	e.commit(claim(n))
	g, later := touch(n)
	e.commit(g)
	e.stale("the name has changed", renew(n, another(n, "\x7f"+n.ID.String())))
	e.has(later)
	e.sameEvents(e.history(n.ID), []dibs.Event{happened(dibs.EventClaimed, n), happened(dibs.EventExtended, later)})
}

func commitRedact(e *env) {
	n, r := name("slug", "a", dibs.Active), entity("", dibs.Entity{Type: "user", ID: "1"})
	n.Value = "A"
	e.commit(join(claim(n), create(r), telling(aboutEntity(dibs.EventArchived, r))))
	g, later := touch(n)
	e.commit(g)

	before := e.feed(dibs.EventQuery{})
	less := make([]dibs.Event, len(before))
	for i, event := range before {
		event.Entity, event.After.Entity, event.Actor = dibs.Entity{}, dibs.Entity{}, ""
		less[i] = event
	}
	less[2] = before[2] // this one stays unchanged
	last := next(later, nil)
	told := happened(dibs.EventForgotten, last)
	g = join(update(later, last), telling(told))
	g.Redacts = less[:2]
	e.commit(g)

	after := e.feed(dibs.EventQuery{})
	e.sameEvents(after, append(less, told))
	for i := range before {
		if after[i].Cursor != before[i].Cursor {
			e.Fatalf("event %d has cursor %q, it had %q before it was redacted", i, after[i].Cursor, before[i].Cursor)
		}
	}
	e.sameEvents(e.history(n.ID), []dibs.Event{less[0], less[2], told})
	e.has(last, r)
}

func commitRedactGone(e *env) {
	n, other := name("slug", "a", dibs.Active), name("slug", "b", dibs.Active)
	e.commit(claim(n), claim(other))
	told := e.history(n.ID)
	e.commit(remove(n))
	g, later := touch(other)
	g.Redacts = told
	e.commit(g)
	e.sameEvents(e.history(n.ID), nil)
	e.sameEvents(e.feed(dibs.EventQuery{}), []dibs.Event{happened(dibs.EventClaimed, other), happened(dibs.EventExtended, later)})
}
