package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Group is a [dibs.Group] to commit, and the requests that are committed or refused with it.
type Group struct {
	dibs.Group
	Members []int // indexes of the batch's requests
}

// Groups sorts the decided requests into groups: requests that share a record which one of them
// changes belong together. A request that changes nothing but rests on a change of another request
// belongs to the other's group; see [Request.Changes]. The indexes of requests that change
// nothing and rest on no other request are returned separately.
func (b *Batch) Groups(requests []*Request) (groups []*Group, alone []int) {
	var (
		sets   = make([]int, len(requests))        // union-find over requests
		order  = make([]int, len(requests))        // 0, 1, 2, …: the members of most groups are a slice of it
		byLast = make(map[Key]int, len(b.current)) // the last request that touched a changed record
	)
	find := func(i int) int {
		for sets[i] != i {
			sets[i] = sets[sets[i]]
			i = sets[i]
		}
		return i
	}
	touch := func(i int, ref dibs.Ref) {
		key := KeyOf(ref)
		if _, changed := b.current[key]; !changed {
			return
		}
		if j, ok := byLast[key]; ok {
			sets[find(i)] = find(j)
		}
		byLast[key] = i
	}
	for i, r := range requests {
		sets[i], order[i] = i, i
		if r.restsOnLoadAlone() {
			continue
		}
		for _, ref := range r.view.reads {
			touch(i, ref)
		}
		for _, c := range r.view.changes {
			touch(i, c.ref)
		}
	}
	byRoot := make([]*Group, len(requests))
	for i, r := range requests {
		if r.restsOnLoadAlone() {
			alone = append(alone, i)
			continue
		}
		g := &byRoot[find(i)]
		if *g == nil {
			// Most groups have one member, and need no allocation for it.
			*g = &Group{Group: dibs.Group{Window: b.window}, Members: order[i : i+1 : i+1]}
			groups = append(groups, *g)
			continue
		}
		(*g).Members = append((*g).Members, i)
	}
	var work refLists
	for _, g := range groups {
		b.fill(g, requests, &work)
	}
	return groups, alone
}

// restsOnLoadAlone reports whether the request changes nothing, and its answer is right at the
// moment of the load.
func (r *Request) restsOnLoadAlone() bool {
	return !r.Changes() && !r.view.dependent
}

// fill sets what a group reads and writes, and its events. Names that stop being an entity's
// active one come first: engines with a unique index need that.
func (b *Batch) fill(g *Group, requests []*Request, refs *refLists) {
	refs.gather(g, requests)
	g.Reads = make([]dibs.Read, len(refs.reads))
	for i, ref := range refs.reads {
		g.Reads[i].Ref = ref
		if r := b.loaded[KeyOf(ref)]; r != nil {
			g.Reads[i].Rev = r.Revision()
		}
	}
	g.Writes = make([]dibs.Write, 0, len(refs.changes))
	yields := 0
	for _, ref := range refs.changes {
		w, ok := b.write(ref)
		if !ok {
			continue
		}
		g.Writes = append(g.Writes, w)
		if w.Yields {
			last := len(g.Writes) - 1
			g.Writes = slices.Insert(g.Writes[:last], yields, w)
			yields++
		}
	}
}

// write returns the write of a changed record, or false if the batch both made and deleted it.
func (b *Batch) write(ref dibs.Ref) (dibs.Write, bool) {
	before, after := b.loaded[KeyOf(ref)], b.current[KeyOf(ref)]
	w := dibs.Write{Record: after, Renew: before != nil && b.renewed[KeyOf(ref)]}
	old, existed := before.(*dibs.NameRecord)
	switch {
	case existed:
		w.Was = old.State
	case ref.Kind == dibs.KindName:
		w.Was = dibs.Free
	}
	if after == nil {
		w.Record, w.Delete, w.Renew = before, true, false
		return w, before != nil
	}
	if w.Was == dibs.Active {
		now := after.(*dibs.NameRecord)
		w.Yields = now.State != dibs.Active || now.Owner != old.Owner
	}
	return w, true
}

// refLists are the records that the changing members of a group read and change, each once.
type refLists struct{ reads, changes []dibs.Ref }

// gather fills the lists anew, and adds the members' events and windows to the group.
func (w *refLists) gather(g *Group, requests []*Request) {
	w.reads, w.changes = w.reads[:0], w.changes[:0]
	for _, i := range g.Members {
		v := requests[i].view
		if len(v.changes) == 0 {
			continue
		}
		g.Window = g.Window.Intersect(v.window)
		for _, ref := range v.renewed { // also drops the events of earlier members
			g.Events = dropEvents(ref, g.Events)
		}
		g.Redacts = append(g.Redacts, v.redacts...)
		if g.Events == nil {
			g.Events = slices.Clip(v.events)
		} else {
			g.Events = append(g.Events, v.events...)
		}
		w.reads = append(w.reads, v.reads...)
		for _, c := range v.changes {
			w.reads = append(w.reads, c.ref)
			w.changes = append(w.changes, c.ref)
		}
	}
	w.reads, w.changes = distinct(w.reads), distinct(w.changes)
}

// distinct removes duplicates. Nearly every group has few refs, and then comparing beats hashing.
func distinct(refs []dibs.Ref) []dibs.Ref {
	const few = 16
	if len(refs) <= few {
		unique := refs[:0]
		for _, ref := range refs {
			if !slices.ContainsFunc(unique, func(r dibs.Ref) bool { return r.ID == ref.ID && r.Kind == ref.Kind }) {
				unique = append(unique, ref)
			}
		}
		return unique
	}
	seen := make(map[Key]bool, len(refs))
	return slices.DeleteFunc(refs, func(ref dibs.Ref) bool {
		again := seen[KeyOf(ref)]
		seen[KeyOf(ref)] = true
		return again
	})
}
