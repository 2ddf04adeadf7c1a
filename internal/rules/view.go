package rules

import (
	"cmp"
	"slices"

	"github.com/calldibs/dibs"
)

// change is what a command does to one record; a nil record is a deletion.
type change struct {
	ref    dibs.Ref
	record dibs.Record
}

// view is what one command sees: the ledger, under the changes of the command's
// own list so far. It reads its own writes and remembers everything it was asked
// for. What is not loaded yet looks absent; the decision is then thrown away and
// taken again once the ledger has it.
type view struct {
	batch  *Batch
	parent *view // the list this command is part of
	now    dibs.Instant
	actor  string

	reads    []dibs.Ref
	changes  []change
	events   []dibs.Event
	renewed  []dibs.Ref   // what of the changes takes the place of another record
	redacts  []dibs.Event // what is to be told less of
	window   dibs.Window
	pastEnds []PastEnd // what is over by time alone

	dependent bool // it saw what a command before it in the batch did

	fault *dibs.Error // something that the decision rests on cannot be read
}

func (b *Batch) view(actor string) *view {
	return &view{batch: b, now: b.now, actor: actor}
}

// nested returns a view for one part of a command. What it reads always counts;
// what it changes counts once it is merged.
func (v *view) nested() *view {
	return &view{batch: v.batch, parent: v, now: v.now, actor: v.actor}
}

// close ends a nested view: with its changes merged into its parent, or dropped. What is
// dropped may have found something absent that nobody writes now, and that Commit cannot
// check then.
func (v *view) close(merge bool) {
	p := v.parent
	for _, ref := range v.reads {
		if !merge && p.peek(ref) == nil {
			p.requireLoad()
			continue
		}
		p.noteRead(ref)
	}
	p.window = p.window.Intersect(v.window)
	p.fault = cmp.Or(p.fault, v.fault)
	p.pastEnds = append(p.pastEnds, v.pastEnds...)
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
		v.batch.current[KeyOf(c.ref)] = c.record
	}
	for _, ref := range v.renewed {
		v.batch.renewed[KeyOf(ref)] = true
	}
}

func (v *view) noteRead(ref dibs.Ref) {
	if !slices.ContainsFunc(v.reads, func(r dibs.Ref) bool { return r.ID == ref.ID && r.Kind == ref.Kind }) {
		v.reads = append(v.reads, ref)
	}
}

func (v *view) find(ref dibs.Ref) (int, bool) {
	i := slices.IndexFunc(v.changes, func(c change) bool { return c.ref.ID == ref.ID && c.ref.Kind == ref.Kind })
	return i, i >= 0
}

// get returns the record as this command sees it, or nil. Commit will check that it
// is still so.
func (v *view) get(ref dibs.Ref) dibs.Record {
	r := v.peek(ref)
	v.noteRead(withScope(ref, r))
	return r
}

// absent reports whether a record is absent, for a decision that does not end that
// itself and so cannot have it checked. A guess will not do.
func (v *view) absent(ref dibs.Ref) bool {
	if v.peek(ref) != nil {
		return false
	}
	v.requireLoad()
	return true
}

// mustKnow says that the decision rests on what Commit does not check.
func (v *view) requireLoad() {
	if v.batch.Guessed() {
		v.batch.asked = true
	}
}

// see returns the record without noting that it was read, unless the batch has changed it:
// then the decision stands or falls with that change.
func (v *view) peek(ref dibs.Ref) dibs.Record {
	for level := v; level != nil; level = level.parent {
		if i, ok := level.find(ref); ok {
			return level.changes[i].record
		}
	}
	r, changed := v.batch.get(ref)
	if changed {
		v.dependent = true
		v.noteRead(withScope(ref, r))
	}
	return r
}

// withScope returns a ref with the scope of its record, which a caller that asks by ID does
// not know.
func withScope(ref dibs.Ref, r dibs.Record) dibs.Ref {
	if r == nil {
		return ref
	}
	return r.Ref()
}

// put changes a record; nil deletes it.
func (v *view) put(ref dibs.Ref, record dibs.Record) {
	if i, ok := v.find(ref); ok {
		v.changes[i].record = record
		return
	}
	v.changes = append(v.changes, change{ref, record})
}

// renew says that a record which is put takes the place of another one, of which nothing
// is to be left.
func (v *view) renew(ref dibs.Ref) {
	v.renewed = append(v.renewed, ref)
	v.events = dropEvents(ref, v.events)
}

// dropTold leaves out what was told of a name that is renewed.
func dropEvents(ref dibs.Ref, events []dibs.Event) []dibs.Event {
	if ref.Kind != dibs.KindName {
		return events
	}
	return slices.DeleteFunc(events, func(e dibs.Event) bool { return e.ID == ref.ID })
}

// narrow says that the decision is right only from and before these dates.
func (v *view) narrow(from, before dibs.Instant) {
	v.window = v.window.Intersect(dibs.Window{From: from, Before: before})
}

// restOnEnd says that the decision rests on something about a record being over since
// that date, which no commit has written down yet.
func (v *view) noteEnd(ref dibs.Ref, rev uint64, at dibs.Instant) {
	v.narrow(at, 0)
	if end := (PastEnd{ref, rev, at}); at != 0 && !slices.Contains(v.pastEnds, end) {
		v.pastEnds = append(v.pastEnds, end)
	}
}

// namesOf returns an entity's names, and whether there are more than a command may
// touch. The caller must have read the entity's record: its revision is what
// notices a name that comes or goes meanwhile.
func (v *view) namesOf(scope string, entity dibs.Entity) (ids []dibs.ID, more bool) {
	owner := Owner{scope, entity}
	v.batch.wantOwned(owner)
	for _, n := range v.batch.owned[owner.key()] {
		ids = append(ids, n.ID)
	}
	// Commands before this one may have given the entity names that the engine
	// does not have yet. Names they took from it are seen when they are read.
	for _, r := range v.pending() {
		if n, ok := r.(*dibs.NameRecord); ok && n.Scope == scope && n.Owner == entity && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids, len(ids) > maxNames
}

// pending returns the records that were changed before this command, in an order
// that is the same each time.
func (v *view) pending() []dibs.Record {
	var records []dibs.Record
	for level := v; level != nil; level = level.parent {
		for _, c := range level.changes {
			records = append(records, c.record)
		}
	}
	for _, r := range v.batch.current {
		records = append(records, r)
	}
	records = slices.DeleteFunc(records, func(r dibs.Record) bool { return r == nil }) // deletions
	slices.SortFunc(records, func(a, b dibs.Record) int {
		x, y := a.Ref().ID, b.Ref().ID
		return slices.Compare(x[:], y[:])
	})
	return records
}
