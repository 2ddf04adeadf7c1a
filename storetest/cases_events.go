package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// page returns a page of events.
func (e *env) page(query dibs.EventQuery) []dibs.Event {
	e.Helper()
	events, err := e.store.Events(e.Context(), query)
	if err != nil {
		e.Fatalf("Events after %q: %v", query.After, err)
	}
	if len(events) > query.Limit {
		e.Fatalf("Events returned %d events, more than its limit, %d", len(events), query.Limit)
	}
	return events
}

// feed reads a query's events up to the last page. Limit 0 means a large one.
func (e *env) feed(query dibs.EventQuery) []dibs.Event {
	e.Helper()
	if query.Limit == 0 {
		query.Limit = 1000
	}
	var all []dibs.Event
	for {
		page := e.page(query)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		if len(all) > 10_000 {
			e.Fatalf("the feed does not end")
		}
		query.After = all[len(all)-1].Cursor
	}
}

// history returns the events of a name, oldest first.
func (e *env) history(name dibs.ID) []dibs.Event {
	e.Helper()
	events := e.feed(dibs.EventQuery{Name: name})
	slices.Reverse(events)
	return events
}

// sameEvents compares events except for their cursors.
func (e *env) sameEvents(got, want []dibs.Event) {
	e.Helper()
	for i := range min(len(got), len(want)) {
		if got[i].Cursor == "" {
			e.Fatalf("event %d has no cursor", i+1)
		}
		g, w := got[i], want[i]
		g.Cursor, w.Cursor = "", ""
		if d := diff(g, w); d != "" {
			e.Fatalf("event %d of %d is not what was committed: %s", i+1, len(want), d)
		}
	}
	if len(got) != len(want) {
		e.Fatalf("the feed has %d events, it must have %d", len(got), len(want))
	}
}

// fullEvent makes an event of a name with all fields set.
func fullEvent(kind dibs.EventKind, n *dibs.NameRecord) dibs.Event {
	ev := fill(new(dibs.Event))
	ev.Cursor, ev.Kind = "", kind
	ev.ID, ev.Namespace, ev.Canonical, ev.Scope, ev.Rev = n.ID, n.Namespace, n.Canonical, n.Scope, n.Rev
	ev.Before.State, ev.Before.Status = dibs.Held, dibs.StatusReserved
	ev.After.State, ev.After.Status = n.State, n.Status
	ev.Epoch = ev.After.Epoch
	return *ev
}

// fullEntityEvent makes an event of an entity with all fields set that such an
// event can have.
func fullEntityEvent(kind dibs.EventKind) dibs.Event {
	ev := fill(new(dibs.Event))
	ev.Cursor, ev.Kind, ev.Scope = "", kind, "acme.eu"
	ev.ID, ev.Namespace, ev.Canonical, ev.Value, ev.Rev, ev.Epoch = dibs.ID{}, "", "", "", 0, 0
	ev.Before, ev.After = dibs.Snapshot{}, dibs.Snapshot{}
	return *ev
}

var (
	nameEvents = []dibs.EventKind{
		dibs.EventReserved, dibs.EventExtended, dibs.EventConfirmed, dibs.EventClaimed, dibs.EventReleased,
		dibs.EventExpired, dibs.EventSuspected, dibs.EventDemoted, dibs.EventRevived,
		dibs.EventRespelled, dibs.EventGivenUp, dibs.EventUnlocked, dibs.EventTransferred,
	}
	entityEvents = []dibs.EventKind{dibs.EventArchived, dibs.EventRestored, dibs.EventDeleted}
)

func eventsExact(e *env) {
	var want []dibs.Event
	n := name("acme.eu.slug", "a", dibs.Active)
	e.commit(create(n))
	for _, kind := range nameEvents {
		for _, make := range []func(dibs.EventKind, *dibs.NameRecord) dibs.Event{fullEvent, happened} {
			n2 := next(n, nil)
			ev := make(kind, n2)
			e.commit(join(update(n, n2), telling(ev)))
			n, want = n2, append(want, ev)
		}
	}
	r := fullEntity()
	e.commit(create(r))
	for _, kind := range entityEvents {
		for _, ev := range []dibs.Event{fullEntityEvent(kind), aboutEntity(kind, r)} {
			r2 := *r
			r2.Rev++
			e.commit(join(update(r, &r2), telling(ev)))
			r, want = &r2, append(want, ev)
		}
	}
	e.sameEvents(e.feed(dibs.EventQuery{}), want)
}

func eventsExactValues(e *env) {
	var want []dibs.Event
	var groups []dibs.Group
	for _, value := range oddValues {
		n := name("slug", value, dibs.Held)
		ev := happened(dibs.EventReserved, n)
		ev.Actor, ev.CorrelationID, ev.Meta = value, value, map[string]string{value: value, "empty": ""}
		groups, want = append(groups, join(create(n), telling(ev))), append(want, ev)
	}
	for _, g := range groups {
		e.commit(g)
	}
	got := make(map[dibs.ID]dibs.Event)
	for _, ev := range e.feed(dibs.EventQuery{}) {
		got[ev.ID] = ev
	}
	for _, ev := range want {
		e.sameEvents([]dibs.Event{got[ev.ID]}, []dibs.Event{ev})
	}
}

func eventsFilter(e *env) {
	// Three names of three namespaces and an entity take turns.
	names := []*dibs.NameRecord{name("slug", "a", dibs.Active), name("acme.slug", "a", dibs.Active), name("slug", "A", dibs.Active)}
	r := entity("", dibs.Entity{Type: "user", ID: "1"})
	e.commit(claim(names[0]), claim(names[1]), claim(names[2]), create(r))
	for range 4 {
		for i, n := range names {
			g, n2 := touch(n)
			names[i] = n2
			e.commit(g)
		}
		r2 := *r
		r2.Rev++
		e.commit(join(update(r, &r2), telling(aboutEntity(dibs.EventArchived, &r2))))
		r = &r2
	}
	all := e.feed(dibs.EventQuery{})
	if len(all) != 3+4*4 {
		e.Fatalf("the feed has %d events, it must have %d", len(all), 3+4*4)
	}
	e.resumes(dibs.ID{}, all)
	for _, id := range []dibs.ID{names[0].ID, names[2].ID, dibs.NameID("slug", "never"), names[1].ID} {
		var history []dibs.Event // newest first
		for _, ev := range slices.Backward(all) {
			if ev.ID == id {
				history = append(history, ev)
			}
		}
		e.resumes(id, history)
	}
}

// resumes reads the feed, or the history of a name, in pages of several sizes and from
// every position.
func (e *env) resumes(id dibs.ID, all []dibs.Event) {
	e.Helper()
	for after := -1; after < len(all); after++ { // the event before the page; -1 is before the first
		query := dibs.EventQuery{Name: id}
		if after >= 0 {
			query.After = all[after].Cursor
		}
		rest := all[after+1:]
		for _, limit := range []int{1, 3, 100} {
			query.Limit = limit
			e.sameEvents(e.page(query), rest[:min(limit, len(rest))])
		}
		query.Limit = 2
		e.sameEvents(e.feed(query), rest)
	}
}

func eventsCursor(e *env) {
	for i := range 3 {
		e.commit(claim(name("slug", fmt.Sprint(i), dibs.Active)))
	}
	given := string(e.feed(dibs.EventQuery{})[2].Cursor)
	for _, cursor := range []string{
		"no such cursor", " ", "-1", "0", "1.5", "' OR '1'='1", "%", "é", "\x00", given + "!", "!" + given, given + " ", " " + given,
		strings.Repeat("9", 40), strings.Repeat("x", 10_000),
	} {
		for _, query := range []dibs.EventQuery{{}, {Name: dibs.NameID("slug", "1")}} {
			query.After, query.Limit = dibs.Cursor(cursor), 10
			if _, err := e.store.Events(e.Context(), query); !errors.Is(err, dibs.ErrBadCursor) {
				e.Fatalf("Events after %.40q returned the error %v, it must match ErrBadCursor", cursor, err)
			}
		}
	}
	if left := e.feed(dibs.EventQuery{After: dibs.Cursor(given)}); len(left) != 0 {
		e.Fatalf("there are %d events after the last one", len(left))
	}
}
