package storetest

import "github.com/calldibs/dibs"

// create makes a group that stores absent records.
func create(records ...dibs.Record) dibs.Group {
	var g dibs.Group
	for _, record := range records {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref()})
		g.Writes = append(g.Writes, dibs.Write{Record: record, Was: stateBefore(record.Ref().Kind, nil)})
	}
	return g
}

// stateBefore returns the state of a record before a group: that of a name, also of an absent
// one, and none of other records.
func stateBefore(kind dibs.Kind, before dibs.Record) dibs.State {
	name, isName := before.(*dibs.NameRecord)
	switch {
	case isName:
		return name.State
	case before == nil && kind == dibs.KindName:
		return dibs.Free
	}
	return ""
}

// update makes a group that replaces a record.
func update(from, to dibs.Record) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Was: stateBefore(dibs.KindName, from)}}}
}

// yield makes a group that replaces a name that stops being its entity's active
// one.
func yield(from, to *dibs.NameRecord) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Yields: true, Was: from.State}}}
}

// renew makes a group that stores a record in place of another with the same ID.
func renew(from, to dibs.Record) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Renew: true, Was: stateBefore(dibs.KindName, from)}}}
}

// remove makes a group that deletes records.
func remove(records ...dibs.Record) dibs.Group {
	g := reading(records...)
	for _, record := range records {
		g.Writes = append(g.Writes, dibs.Write{Record: record, Delete: true, Was: stateBefore(dibs.KindName, record)})
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
