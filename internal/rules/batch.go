package rules

import (
	"iter"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
)

// Key identifies a record. The scope of a [dibs.Ref] only says where the record is stored.
type Key struct {
	kind dibs.Kind
	id   dibs.ID
}

// KeyOf returns the key of the record that a ref leads to.
func KeyOf(r dibs.Ref) Key { return Key{r.Kind, r.ID} }

// Batch is the state that the requests of one batch are decided on: the result of one Load, and the
// changes of the requests that were decided so far. It also collects the records that decisions ask
// for and that are not loaded yet.
type Batch struct {
	now     dibs.Instant
	loaded  map[Key]dibs.Record          // as the engine has it; nil: known to be absent
	current map[Key]dibs.Record          // as requests of this batch have changed it; nil: deleted
	owned   map[Owner][]*dibs.NameRecord // as the engine has them
	renewed map[Key]bool                 // the records of current that replace another one

	namespaceRecords map[*dibs.Document]NamespaceRecord // decoded once: every new name of a namespace reads the same

	wants  []dibs.Ref // everything asked for so far
	owners []Owner    // every entity whose names were asked for
	asked  bool       // something was asked for that is not loaded

	// Set in a guessed state: where records come from, and when the guess may be right.
	recall func(Key) dibs.Record
	window dibs.Window
}

// Owner asks for the names of an entity.
type Owner struct {
	Scope  string
	Entity dibs.Entity
}

// OwnedLimit is how many names of an entity a batch lists: one more than a command may touch.
const OwnedLimit = maxNames + 1

// NewBatch returns a state that wants everything the requests are known to read.
func NewBatch(requests []*Request) *Batch { return GuessBatch(requests, 0, dibs.Window{}, nil) }

// GuessBatch returns a state that is guessed and not loaded: a record is what recall returns, or
// absent where a request expects that. The state is incomplete if a request is known to read any
// other record.
func GuessBatch(requests []*Request, now dibs.Instant, window dibs.Window, recall func(Key) dibs.Record) *Batch {
	records := 2 * len(requests)
	b := &Batch{
		now: now, window: window, recall: recall,
		loaded:           make(map[Key]dibs.Record, records),
		current:          make(map[Key]dibs.Record, records),
		owned:            make(map[Owner][]*dibs.NameRecord),
		renewed:          make(map[Key]bool),
		namespaceRecords: make(map[*dibs.Document]NamespaceRecord),
	}
	if b.Guessed() {
		for _, r := range requests {
			for _, ref := range r.likelyAbsent {
				b.expectAbsent(ref)
			}
		}
	}
	for _, r := range requests {
		for _, ref := range r.wants {
			b.want(ref)
		}
	}
	return b
}

// Guessed reports whether the state was guessed and not loaded.
func (b *Batch) Guessed() bool { return b.recall != nil }

// Decide decides the requests in order.
func (b *Batch) Decide(requests []*Request) {
	for _, r := range requests {
		r.Decide(b)
	}
}

// Complete reports whether the state has everything that was asked for.
func (b *Batch) Complete() bool { return !b.asked }

// Wanted returns the records to load, and the entities whose names are to be listed after that.
func (b *Batch) Wanted() ([]dibs.Ref, []Owner) { return b.wants, b.owners }

// Load replaces the state by what was loaded: all records in one Load, so that every decision
// rests on one moment, and the names of each owner. Names are listed after the Load; the revision
// of the entity's record, which was loaded before, tells whether they changed in between.
func (b *Batch) Load(loaded dibs.LoadResult, owned [][]*dibs.NameRecord) {
	clear(b.current)
	clear(b.loaded)
	clear(b.renewed)
	b.now = loaded.Now
	for _, ref := range b.wants {
		b.loaded[KeyOf(ref)] = nil
	}
	for _, r := range loaded.Records {
		b.loaded[KeyOf(r.Ref())] = r
	}
	for i, o := range b.owners {
		b.owned[o] = owned[i]
	}
	b.asked = false
}

// Records returns what was loaded; nil stands for an absent record.
func (b *Batch) Records() iter.Seq[dibs.Record] { return maps.Values(b.loaded) }

// get returns a record, or nil, and whether the batch has changed it. A record that is not loaded
// looks absent for now. A record that the batch deletes looks as it was before: a command that
// writes it again undoes the deletion, and its history goes on. But an index entry that the batch
// deletes is absent: a decision that finds its name in an entry does not write the entry again.
func (b *Batch) get(ref dibs.Ref) (r dibs.Record, changed bool) {
	r, changed = b.current[KeyOf(ref)]
	if r != nil || (changed && (ref.Kind == dibs.KindSkeleton || ref.Kind == dibs.KindHash)) {
		return r, true
	}
	b.want(ref)
	return b.loaded[KeyOf(ref)], changed
}

func (b *Batch) want(ref dibs.Ref) {
	if !b.knows(ref) {
		b.loaded[KeyOf(ref)] = nil
		b.wants = append(b.wants, ref)
		b.asked = true
	}
}

// expectAbsent is want for a record that is most likely absent: a guessed state assumes so.
func (b *Batch) expectAbsent(ref dibs.Ref) {
	if b.Guessed() && !b.knows(ref) {
		b.loaded[KeyOf(ref)] = nil
	}
	b.want(ref)
}

// knows reports whether a record is loaded, or remembered in a guessed state.
func (b *Batch) knows(ref dibs.Ref) bool {
	key := KeyOf(ref)
	_, known := b.loaded[key]
	if !known && b.Guessed() {
		if r := b.recall(key); r != nil {
			b.loaded[key], known = r, true
		}
	}
	return known
}

// namesOf returns the names of an entity, which looks as if it had none until they are listed.
func (b *Batch) namesOf(o Owner) []*dibs.NameRecord {
	names, known := b.owned[o]
	if !known {
		b.owned[o] = nil
		b.owners = append(b.owners, o)
		b.asked = true
	}
	return names
}

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
func (r *Request) restsOnLoadAlone() bool { return !r.Changes() && !r.view.dependent }

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
	w := dibs.Write{Record: after}
	old, existed := before.(*dibs.NameRecord)
	switch {
	case existed:
		w.Was = old.State
	case ref.Kind == dibs.KindName:
		w.Was = dibs.Free
	}
	if after == nil {
		w.Record, w.Delete = before, true
		return w, before != nil
	}
	w.Renew = before != nil && b.renewed[KeyOf(ref)]
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
