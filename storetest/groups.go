package storetest

import (
	"slices"

	"github.com/calldibs/dibs"
)

// create makes a group that stores absent records.
func create(records ...dibs.Record) dibs.Group {
	var g dibs.Group
	for _, record := range records {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref()})
		g.Writes = append(g.Writes, dibs.Write{Record: record})
	}
	return g
}

// update makes a group that replaces a record.
func update(from, to dibs.Record) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to}}}
}

// yield makes a group that replaces a name that stops being its entity's active
// one.
func yield(from, to *dibs.NameRecord) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Yields: true}}}
}

// renew makes a group that stores a record in place of another with the same ID.
func renew(from, to dibs.Record) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Renew: true}}}
}

// remove makes a group that deletes records.
func remove(records ...dibs.Record) dibs.Group {
	g := reading(records...)
	for _, record := range records {
		g.Writes = append(g.Writes, dibs.Write{Record: record, Delete: true})
	}
	return g
}

// reading makes a group that reads records and writes nothing.
func reading(records ...dibs.Record) dibs.Group {
	var g dibs.Group
	for _, record := range records {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref(), Rev: record.Revision()})
	}
	return g
}

// telling makes a group of events, to be joined to another.
func telling(events ...dibs.Event) dibs.Group { return dibs.Group{Events: events} }

// within makes a group with a window, to be joined to another.
func within(window dibs.Window) dibs.Group { return dibs.Group{Window: window} }

// join makes one group of several. At most one of them has a window.
func join(groups ...dibs.Group) dibs.Group {
	var all dibs.Group
	for _, g := range groups {
		all.Reads = append(all.Reads, g.Reads...)
		all.Writes = append(all.Writes, g.Writes...)
		all.Events = append(all.Events, g.Events...)
		all.Redacts = append(all.Redacts, g.Redacts...)
		if g.Window != (dibs.Window{}) {
			all.Window = g.Window
		}
	}
	return all
}

// claim makes a group that stores a new name, with its event.
func claim(n *dibs.NameRecord) dibs.Group {
	return join(create(n), telling(happened(dibs.EventClaimed, n)))
}

// touch makes a group that replaces a name by its next revision, with its event.
func touch(n *dibs.NameRecord) (dibs.Group, *dibs.NameRecord) {
	n2 := next(n, nil)
	return join(update(n, n2), telling(happened(dibs.EventExtended, n2))), n2
}

// apart splits groups that span scopes, for stores that cannot commit them.
func apart(groups []dibs.Group) []dibs.Group {
	var split []dibs.Group
	for _, g := range groups {
		for _, scope := range scopesIn(g) {
			split = append(split, within(g.Window))
			own := &split[len(split)-1]
			for _, r := range g.Reads {
				if r.Ref.Scope == scope {
					own.Reads = append(own.Reads, r)
				}
			}
			for _, w := range g.Writes {
				if w.Record.Ref().Scope == scope {
					own.Writes = append(own.Writes, w)
				}
			}
			own.Events = append(own.Events, eventsOf(g.Events, scope)...)
			own.Redacts = append(own.Redacts, eventsOf(g.Redacts, scope)...)
		}
	}
	return split
}

// eventsOf returns the events of a scope.
func eventsOf(events []dibs.Event, scope string) (own []dibs.Event) {
	for _, ev := range events {
		if ev.Scope == scope {
			own = append(own, ev)
		}
	}
	return own
}

// scopesIn returns the scopes of a group, in the order in which it names them.
func scopesIn(g dibs.Group) []string {
	var scopes []string
	add := func(scope string) {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	for _, r := range g.Reads {
		add(r.Ref.Scope)
	}
	for _, ev := range slices.Concat(g.Events, g.Redacts) {
		add(ev.Scope)
	}
	return scopes
}
