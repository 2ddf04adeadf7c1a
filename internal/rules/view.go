package rules

import (
	"cmp"
	"slices"

	"github.com/calldibs/dibs"
)

// change is what a decision does to one record; a nil record is a deletion.
type change struct {
	ref    dibs.Ref
	record dibs.Record
}

// view is what one decision sees: the batch state with the changes of its own request so far. It
// records every read. A record that is not loaded yet looks absent; then the outcome is discarded,
// and the request is decided again once the batch has the record.
type view struct {
	batch  *Batch
	parent *view // the enclosing view, of a nested one
	now    dibs.Instant
	actor  string

	reads    []dibs.Ref
	changes  []change
	events   []dibs.Event
	renewed  []dibs.Ref   // the changed records that replace another one
	redacts  []dibs.Event // events as they are after redaction; no nested view has any
	window   dibs.Window
	pastEnds []PastEnd // ends that the decision rests on and that no commit has written

	dependent bool // it read a change of a request before it in the batch

	fault *dibs.Error // a record that the decision rests on cannot be decoded
}

// try runs one part of a request. Its reads always count; its changes count unless it is refused.
func (v *view) try(part decision) (dibs.Result, *dibs.Error) {
	nested := &view{batch: v.batch, parent: v, now: v.now, actor: v.actor}
	result, err := part(nested)
	for _, ref := range nested.reads {
		if err != nil && v.peek(ref) == nil {
			v.requireLoad() // Commit cannot check that it is absent: no other part may write it
			continue
		}
		v.noteRead(ref, nil)
	}
	v.window = v.window.Intersect(nested.window)
	v.fault = cmp.Or(v.fault, nested.fault)
	v.pastEnds = append(v.pastEnds, nested.pastEnds...)
	v.dependent = v.dependent || nested.dependent
	if err != nil {
		return result, err
	}
	for _, c := range nested.changes {
		v.put(c.ref, c.record)
	}
	for _, ref := range nested.renewed {
		v.renew(ref)
	}
	v.events = append(v.events, nested.events...)
	return result, nil
}

// get returns the record as this decision sees it, or nil. Commit checks that the record has not
// changed.
func (v *view) get(ref dibs.Ref) dibs.Record {
	r := v.peek(ref)
	v.noteRead(ref, r)
	return r
}

// peek returns the record without noting the read, unless the batch has changed it: then the
// decision depends on that change.
func (v *view) peek(ref dibs.Ref) dibs.Record {
	for level := v; level != nil; level = level.parent {
		if i, ok := level.find(ref); ok {
			return level.changes[i].record
		}
	}
	r, changed := v.batch.get(ref)
	if changed {
		v.dependent = true
		v.noteRead(ref, r)
	}
	return r
}

// absent reports whether a record is absent, for a decision that does not write it. Commit does not
// check that, so a guess is not enough.
func (v *view) absent(ref dibs.Ref) bool {
	if v.peek(ref) != nil {
		return false
	}
	v.requireLoad()
	return true
}

// requireLoad notes that the decision rests on something that Commit does not check: a guessed state
// must be loaded first.
func (v *view) requireLoad() {
	if v.batch.Guessed() {
		v.batch.asked = true
	}
}

// noteRead records that the decision read a record. A caller that asks by ID does not know the
// scope, which the record has.
func (v *view) noteRead(ref dibs.Ref, record dibs.Record) {
	if record != nil {
		ref = record.Ref()
	}
	if !slices.ContainsFunc(v.reads, func(r dibs.Ref) bool { return r.ID == ref.ID && r.Kind == ref.Kind }) {
		v.reads = append(v.reads, ref)
	}
}

func (v *view) find(ref dibs.Ref) (int, bool) {
	i := slices.IndexFunc(v.changes, func(c change) bool { return c.ref.ID == ref.ID && c.ref.Kind == ref.Kind })
	return i, i >= 0
}

// put changes a record; nil deletes it.
func (v *view) put(ref dibs.Ref, record dibs.Record) {
	if i, ok := v.find(ref); ok {
		v.changes[i].record = record
		return
	}
	v.changes = append(v.changes, change{ref, record})
}

// renew notes that a record that is put replaces another one: nothing of that one remains, events
// included. The view has none of them yet; the group may.
func (v *view) renew(ref dibs.Ref) { v.renewed = append(v.renewed, ref) }

// narrow limits when the decision is right: from (inclusive) to before (exclusive). Zero sets no
// limit.
func (v *view) narrow(from, before dibs.Instant) {
	v.window = v.window.Intersect(dibs.Window{From: from, Before: before})
}

// noteEnd notes that the decision rests on an end that no commit has written yet. A zero date means
// that there is no such end.
func (v *view) noteEnd(ref dibs.Ref, rev uint64, at dibs.Instant) {
	v.narrow(at, 0)
	if end := (PastEnd{ref, rev, at}); at != 0 && !slices.Contains(v.pastEnds, end) {
		v.pastEnds = append(v.pastEnds, end)
	}
}

// PastEnd is an end that a decision rests on and that no commit has written yet, such as that of a
// hold whose time is over.
//
// Another process may have decided before the end to confirm, extend or release the hold, and its
// commit may still be in progress, invisible to Load. So a decision that commits nothing and rests
// on such an end is answered only after the engine has waited for such commits, and another Load has
// found the record unchanged.
type PastEnd struct {
	Ref dibs.Ref
	rev uint64
	At  dibs.Instant // when it ended; zero if there is no such end
}
