package dibs

import "slices"

// recordKey identifies a record. The scope of a Ref only says where to look.
type recordKey struct {
	kind Kind
	id   ID
}

func (r Ref) key() recordKey { return recordKey{r.Kind, r.ID} }

// ledger holds what one Load brought, and on top of it what the commands of the
// batch decided so far. It also collects what they ask for.
type ledger struct {
	now     Instant
	loaded  map[recordKey]Record // as the engine has it; nil: known to be absent
	current map[recordKey]Record // changed by commands of this batch; nil: deleted
	owned   map[recordKey][]*NameRecord

	due []Ref // what is due, earliest first, if anybody asked

	wants  []Ref      // everything asked for so far
	owners []ownerRef // every entity whose names were asked for
	dues   int        // how much of what is due was asked for
	asked  bool       // something was asked for that is not loaded
}

// ownerRef asks for the names of an entity.
type ownerRef struct {
	scope  string
	entity Entity
}

func (o ownerRef) key() recordKey { return recordKey{KindEntity, EntityID(o.scope, o.entity)} }

// newLedger returns an empty ledger, with room for so many records.
func newLedger(records int) *ledger {
	return &ledger{
		loaded:  make(map[recordKey]Record, records),
		current: make(map[recordKey]Record, records),
		owned:   make(map[recordKey][]*NameRecord),
	}
}

// complete reports whether every question since the last load was answered.
func (l *ledger) complete() bool { return !l.asked }

// want notes a record to be loaded.
func (l *ledger) want(ref Ref) {
	if _, known := l.loaded[ref.key()]; !known {
		l.loaded[ref.key()] = nil
		l.wants = append(l.wants, ref)
		l.asked = true
	}
}

// wantOwned notes an entity whose names are to be listed.
func (l *ledger) wantOwned(o ownerRef) {
	if _, known := l.owned[o.key()]; !known {
		l.owned[o.key()] = nil
		l.owners = append(l.owners, o)
		l.asked = true
	}
}

// get returns a record, or nil. One that is not loaded looks absent for now. One that
// the batch has purged looks as it was: whoever writes it again takes that back, and
// its history goes on.
func (l *ledger) get(ref Ref) Record {
	if r := l.current[ref.key()]; r != nil {
		return r
	}
	l.want(ref)
	return l.loaded[ref.key()]
}

// change is what a command does to one record; a nil record is a deletion.
type change struct {
	ref    Ref
	record Record
}

// view is what one command sees: the ledger, under the changes of the command's
// own list so far. It reads its own writes and remembers everything it was asked
// for. What is not loaded yet looks absent; the decision is then thrown away and
// taken again once the ledger has it.
type view struct {
	ledger *ledger
	parent *view // the list this command is part of
	now    Instant
	actor  string

	reads   []Ref
	changes []change
	events  []Event
	window  Window
}

func (l *ledger) view(actor string) *view {
	return &view{ledger: l, now: l.now, actor: actor}
}

// nested returns a view for one part of a command. What it reads always counts;
// what it changes counts once it is merged.
func (v *view) nested() *view {
	return &view{ledger: v.ledger, parent: v, now: v.now, actor: v.actor}
}

// close ends a nested view: with its changes merged into its parent, or dropped.
func (v *view) close(merge bool) {
	p := v.parent
	for _, ref := range v.reads {
		p.noteRead(ref)
	}
	p.window = p.window.intersect(v.window)
	if !merge {
		return
	}
	for _, c := range v.changes {
		p.put(c.ref, c.record)
	}
	p.events = append(p.events, v.events...)
}

// accept makes the changes of an outermost view visible to the commands after it.
func (v *view) accept() {
	for _, c := range v.changes {
		v.ledger.current[c.ref.key()] = c.record
	}
}

func (v *view) noteRead(ref Ref) {
	if !slices.ContainsFunc(v.reads, func(r Ref) bool { return r.ID == ref.ID && r.Kind == ref.Kind }) {
		v.reads = append(v.reads, ref)
	}
}

func (v *view) find(ref Ref) (int, bool) {
	i := slices.IndexFunc(v.changes, func(c change) bool { return c.ref.ID == ref.ID && c.ref.Kind == ref.Kind })
	return i, i >= 0
}

// get returns the record as this command sees it, or nil. Commit will check that it
// is still so.
func (v *view) get(ref Ref) Record {
	r := v.peek(ref)
	if r != nil {
		ref = r.Ref() // with the scope, which who asks by ID does not know
	}
	v.noteRead(ref)
	return r
}

// peek is get for what the decision does not rest on.
func (v *view) peek(ref Ref) Record {
	for level := v; level != nil; level = level.parent {
		if i, ok := level.find(ref); ok {
			return level.changes[i].record
		}
	}
	return v.ledger.get(ref)
}

// put changes a record; nil deletes it.
func (v *view) put(ref Ref, record Record) {
	if i, ok := v.find(ref); ok {
		v.changes[i].record = record
		return
	}
	v.changes = append(v.changes, change{ref, record})
}

// narrow says that the decision is right only from and before these dates.
func (v *view) narrow(from, before Instant) {
	v.window = v.window.intersect(Window{From: from, Before: before})
}

// namesOf returns an entity's names, and whether there are more than a command may
// touch. The caller must have read the entity's record: its revision is what
// notices a name that comes or goes meanwhile.
func (v *view) namesOf(scope string, entity Entity) (ids []ID, more bool) {
	owner := ownerRef{scope, entity}
	v.ledger.wantOwned(owner)
	for _, n := range v.ledger.owned[owner.key()] {
		ids = append(ids, n.ID)
	}
	// Commands before this one may have given the entity names that the engine
	// does not have yet. Names they took from it are seen when they are read.
	for _, r := range v.pending() {
		if n, ok := r.(*NameRecord); ok && n.Scope == scope && n.Owner == entity && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids, len(ids) > maxNames
}

// due returns what is due, up to a limit. It is a hint: whether something is over, and
// still there, each record says itself.
func (v *view) due(limit int) []Ref {
	if limit > v.ledger.dues {
		v.ledger.dues = limit
		v.ledger.asked = true
	}
	return v.ledger.due[:min(limit, len(v.ledger.due))]
}

// pending returns the records that were changed before this command, in an order
// that is the same each time.
func (v *view) pending() []Record {
	var records []Record
	for level := v; level != nil; level = level.parent {
		for _, c := range level.changes {
			records = append(records, c.record)
		}
	}
	for _, r := range v.ledger.current {
		records = append(records, r)
	}
	records = slices.DeleteFunc(records, func(r Record) bool { return r == nil }) // deletions
	slices.SortFunc(records, func(a, b Record) int {
		x, y := a.Ref().ID, b.Ref().ID
		return slices.Compare(x[:], y[:])
	})
	return records
}
