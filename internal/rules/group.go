package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// grouping sorts the requests of a batch into groups. It belongs to the batch, which reuses its
// memory.
type grouping struct {
	sets    []int // union-find over requests
	order   []int // 0, 1, 2, …: the members of most groups are a slice of it
	groupOf []int // the group of the set with this root, counted from 1
	members [][]int
	alone   []int

	reads, changes []dibs.Ref // of the group that is filled
}

// Groups sorts the decided requests into groups: requests that share a record which one of them
// changes belong together. A request that changes nothing but rests on a change of another request
// belongs to the other's group; see [Request.Changes]. The members of each group are indexes of
// requests. The indexes of requests that change nothing and rest on no other request are returned
// separately. Members and alone are valid until the next Groups.
func (b *Batch) Groups(requests []*Request) (groups []dibs.Group, members [][]int, alone []int) {
	g := &b.grouping
	g.begin(len(requests))
	for i, r := range requests {
		if r.RestsOnLoadAlone() {
			continue
		}
		for _, ref := range r.view.reads {
			b.touch(i, ref)
		}
		for _, c := range r.view.changes {
			b.touch(i, c.ref)
		}
	}
	for i, r := range requests {
		if r.RestsOnLoadAlone() {
			g.alone = append(g.alone, i)
			continue
		}
		switch number := &g.groupOf[g.find(i)]; *number {
		case 0: // most groups have one member, and need no allocation for it
			g.members = append(g.members, g.order[i:i+1:i+1])
			*number = len(g.members)
		default:
			g.members[*number-1] = append(g.members[*number-1], i)
		}
	}
	return b.fillGroups(requests), g.members, g.alone
}

func (g *grouping) begin(requests int) {
	g.sets, g.order, g.groupOf = g.sets[:0], g.order[:0], g.groupOf[:0]
	g.members, g.alone = g.members[:0], g.alone[:0]
	for i := range requests {
		g.sets, g.order, g.groupOf = append(g.sets, i), append(g.order, i), append(g.groupOf, 0)
	}
}

func (g *grouping) find(i int) int {
	for g.sets[i] != i {
		g.sets[i] = g.sets[g.sets[i]]
		i = g.sets[i]
	}
	return i
}

// touch joins a request with the last one that touched a changed record.
func (b *Batch) touch(i int, ref dibs.Ref) {
	e := b.find(KeyOf(ref))
	if !e.changed {
		return
	}
	if e.touched > 0 {
		b.grouping.sets[b.grouping.find(i)] = b.grouping.find(e.touched - 1)
	}
	e.touched = i + 1
}

// fillGroups returns the groups with what they read and write, and their events. The lists of all
// groups are parts of one.
func (b *Batch) fillGroups(requests []*Request) []dibs.Group {
	g := &b.grouping
	if len(g.members) == 0 {
		return nil
	}
	most, changes := 0, 0
	for _, r := range requests {
		most += len(r.view.reads) + len(r.view.changes)
		changes += len(r.view.changes)
	}
	groups := make([]dibs.Group, len(g.members))
	reads, writes := make([]dibs.Read, 0, most), make([]dibs.Write, 0, changes)
	for i, members := range g.members {
		group := &groups[i]
		group.Window = b.window
		g.gather(group, members, requests)
		from := len(reads)
		for _, ref := range g.reads {
			reads = append(reads, b.read(ref))
		}
		group.Reads = slices.Clip(reads[from:])
		from = len(writes)
		for _, ref := range g.changes {
			if w, ok := b.write(ref); ok {
				writes = append(writes, w)
			}
		}
		group.Writes = slices.Clip(writes[from:])
		// Names that stop being an entity's active one come first: engines with a unique index need that.
		slices.SortStableFunc(group.Writes, func(a, b dibs.Write) int { return yieldsFirst(a) - yieldsFirst(b) })
	}
	return groups
}

func yieldsFirst(w dibs.Write) int {
	if w.Yields {
		return 0
	}
	return 1
}

func (b *Batch) read(ref dibs.Ref) dibs.Read {
	if e := b.find(KeyOf(ref)); e.loaded != nil {
		return dibs.Read{Ref: ref, Rev: e.loaded.Revision()}
	}
	return dibs.Read{Ref: ref}
}

// write returns the write of a changed record, or false if the batch both made and deleted it.
func (b *Batch) write(ref dibs.Ref) (dibs.Write, bool) {
	e := b.find(KeyOf(ref))
	w := dibs.Write{Record: e.current}
	old, existed := e.loaded.(*dibs.NameRecord)
	switch {
	case existed:
		w.Was = old.State
	case ref.Kind == dibs.KindName:
		w.Was = dibs.Free
	}
	if e.current == nil {
		w.Record, w.Delete = e.loaded, true
		return w, e.loaded != nil
	}
	w.Renew = e.loaded != nil && e.renewed
	if w.Was == dibs.Active {
		now := e.current.(*dibs.NameRecord)
		w.Yields = now.State != dibs.Active || now.Owner != old.Owner
	}
	return w, true
}

// gather lists the records that the changing members of a group read and change, each once, and adds
// the members' events and windows to the group.
func (g *grouping) gather(group *dibs.Group, members []int, requests []*Request) {
	g.reads, g.changes = g.reads[:0], g.changes[:0]
	for _, i := range members {
		v := &requests[i].view
		if len(v.changes) == 0 {
			continue
		}
		group.Window = group.Window.Intersect(v.window)
		for _, ref := range v.renewed { // also drops the events of earlier members; only those of names have an ID
			group.Events = slices.DeleteFunc(group.Events, func(e dibs.Event) bool { return e.ID == ref.ID })
		}
		group.Redacts = append(group.Redacts, v.redacts...)
		if group.Events == nil {
			group.Events = slices.Clip(v.events)
		} else {
			group.Events = append(group.Events, v.events...)
		}
		g.reads = append(g.reads, v.reads...)
		for _, c := range v.changes {
			g.reads = append(g.reads, c.ref)
			g.changes = append(g.changes, c.ref)
		}
	}
	g.reads, g.changes = distinct(g.reads), distinct(g.changes)
}

// distinct removes duplicates.
func distinct(refs []dibs.Ref) []dibs.Ref {
	if len(refs) <= few {
		unique := refs[:0]
		for _, ref := range refs {
			if !slices.ContainsFunc(unique, func(r dibs.Ref) bool { return KeyOf(r) == KeyOf(ref) }) {
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
