package dibs

import (
	"cmp"
	"slices"
)

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
	renewed []Ref   // what of the changes takes the place of another record
	redacts []Event // what is to be told less of
	window  Window
	ended   []pastEnd // what is over by time alone

	dependent bool // it saw what a command before it in the batch did

	fault *Error // something that the decision rests on cannot be read
}

func (l *ledger) view(actor string) *view {
	return &view{ledger: l, now: l.now, actor: actor}
}

// nested returns a view for one part of a command. What it reads always counts;
// what it changes counts once it is merged.
func (v *view) nested() *view {
	return &view{ledger: v.ledger, parent: v, now: v.now, actor: v.actor}
}

// close ends a nested view: with its changes merged into its parent, or dropped. What is
// dropped may have found something absent that nobody writes now, and that Commit cannot
// check then.
func (v *view) close(merge bool) {
	p := v.parent
	for _, ref := range v.reads {
		if !merge && p.see(ref) == nil {
			p.mustKnow()
			continue
		}
		p.noteRead(ref)
	}
	p.window = p.window.Intersect(v.window)
	p.fault = cmp.Or(p.fault, v.fault)
	p.ended = append(p.ended, v.ended...)
	p.dependent = p.dependent || v.dependent
	if !merge {
		return
	}
	for _, c := range v.changes {
		p.put(c.ref, c.record)
	}
	for _, ref := range v.renewed {
		p.renew(ref)
	}
	p.events = append(p.events, v.events...)
	p.redacts = append(p.redacts, v.redacts...)
}

// accept makes the changes of an outermost view visible to the commands after it.
func (v *view) accept() {
	for _, c := range v.changes {
		v.ledger.current[keyOf(c.ref)] = c.record
	}
	for _, ref := range v.renewed {
		v.ledger.renewed[keyOf(ref)] = true
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
	r := v.see(ref)
	v.noteRead(withScope(ref, r))
	return r
}

// absent reports whether a record is absent, for a decision that does not end that
// itself and so cannot have it checked. A guess will not do.
func (v *view) absent(ref Ref) bool {
	if v.see(ref) != nil {
		return false
	}
	v.mustKnow()
	return true
}

// mustKnow says that the decision rests on what Commit does not check.
func (v *view) mustKnow() {
	if v.ledger.guessed() {
		v.ledger.asked = true
	}
}

// see returns the record without noting that it was read, unless the batch has changed it:
// then the decision stands or falls with that change.
func (v *view) see(ref Ref) Record {
	for level := v; level != nil; level = level.parent {
		if i, ok := level.find(ref); ok {
			return level.changes[i].record
		}
	}
	r, changed := v.ledger.get(ref)
	if changed {
		v.dependent = true
		v.noteRead(withScope(ref, r))
	}
	return r
}

// withScope returns a ref with the scope of its record, which a caller that asks by ID does
// not know.
func withScope(ref Ref, r Record) Ref {
	if r == nil {
		return ref
	}
	return r.Ref()
}

// put changes a record; nil deletes it.
func (v *view) put(ref Ref, record Record) {
	if i, ok := v.find(ref); ok {
		v.changes[i].record = record
		return
	}
	v.changes = append(v.changes, change{ref, record})
}

// renew says that a record which is put takes the place of another one, of which nothing
// is to be left.
func (v *view) renew(ref Ref) {
	v.renewed = append(v.renewed, ref)
	v.events = dropTold(ref, v.events)
}

// dropTold leaves out what was told of a name that is renewed.
func dropTold(r Ref, events []Event) []Event {
	if r.Kind != KindName {
		return events
	}
	return slices.DeleteFunc(events, func(e Event) bool { return e.ID == r.ID })
}

// narrow says that the decision is right only from and before these dates.
func (v *view) narrow(from, before Instant) {
	v.window = v.window.Intersect(Window{From: from, Before: before})
}

// restOnEnd says that the decision rests on something about a record being over since
// that date, which no commit has written down yet.
func (v *view) restOnEnd(ref Ref, rev uint64, at Instant) {
	v.narrow(at, 0)
	if end := (pastEnd{ref, rev, at}); at != 0 && !slices.Contains(v.ended, end) {
		v.ended = append(v.ended, end)
	}
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
