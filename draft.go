package dibs

import (
	"maps"
	"slices"
	"strings"
)

// draft is a name that a command is deciding about: the record as it stands now,
// with everything ended that ended by itself.
type draft struct {
	NameRecord
	before Snapshot // after its last event
	lapses []lapse  // what ended by itself and is not in the history yet
}

// exists reports whether the name has a row.
func (d *draft) exists() bool { return d.Rev > 0 }

// name returns the draft of a name, free where it has no row.
func (v *view) name(s *subject) *draft {
	if d := v.nameByID(s.id, s.scope); d != nil {
		return d
	}
	d := &draft{NameRecord: NameRecord{
		ID: s.id, Namespace: s.namespace, Scope: s.scope, Canonical: s.canonical, State: Free,
	}}
	d.before = snapshotOf(&d.NameRecord)
	return d
}

// nameByID returns the draft of a name, or nil where it has no row. Who asks by ID
// alone does not know the scope.
func (v *view) nameByID(id ID, scope string) *draft {
	r, _ := v.get(Ref{KindName, scope, id}).(*NameRecord)
	if r == nil {
		return nil
	}
	d := &draft{NameRecord: *r, before: snapshotOf(r)}
	d.lapse(v.now)
	// The decision about to be taken is right from the last thing that ended by
	// itself until the next one that will.
	var from Instant
	if n := len(d.lapses); n > 0 {
		from = d.lapses[n-1].at
	}
	v.narrow(from, d.ends())
	return d
}

// save stores the draft and tells the world what happened to it.
func (v *view) save(d *draft, kind EventKind) {
	v.saveLapses(d)
	v.record(d, kind, v.now, v.actor, snapshotOf(&d.NameRecord))
	v.store(d)
}

// saveLapses puts into the history what ended by itself, dated when it did.
func (v *view) saveLapses(d *draft) {
	if len(d.lapses) == 0 {
		return
	}
	for _, l := range d.lapses {
		if !l.leaves.IsZero() {
			v.saveEntity(v.entity(d.Scope, l.leaves))
		}
		v.record(d, l.kind, l.at, "", l.after)
	}
	d.lapses = nil
	v.store(d)
}

// store writes the draft as it is.
func (v *view) store(d *draft) {
	d.Due = d.nextDue()
	r := d.NameRecord
	v.put(r.Ref(), &r)
}

// record appends the event that took the name from d.before to after. Each event
// has a revision of its own.
func (v *view) record(d *draft, kind EventKind, at Instant, actor string, after Snapshot) {
	d.Rev++
	e := Event{
		Kind: kind, At: at, ID: d.ID, Namespace: d.Namespace, Canonical: d.Canonical, Value: d.Value,
		Rev: d.Rev, Epoch: after.Epoch, Before: d.before, After: after, Scope: d.Scope, Entity: after.Entity,
		Actor: actor, CorrelationID: d.CorrelationID,
	}
	if kind == EventReserved || kind == EventClaimed {
		e.Meta = d.Meta
	}
	if i, changed := v.find(Ref{KindEntity, d.Scope, EntityID(d.Scope, after.Entity)}); changed {
		e.Version = v.changes[i].record.Revision()
	}
	v.events = append(v.events, e)
	d.before = after
}

// entityDraft is an entity that a command is deciding about.
type entityDraft struct {
	*EntityRecord
}

// entity returns the draft of an entity; one without a record has revision 0.
func (v *view) entity(scope string, entity Entity) entityDraft {
	id := EntityID(scope, entity)
	if r, ok := v.get(Ref{KindEntity, scope, id}).(*EntityRecord); ok {
		return entityDraft{r.clone()}
	}
	return entityDraft{&EntityRecord{ID: id, Scope: scope, Entity: entity, Active: make(map[string]ID)}}
}

// saveEntity stores the entity. Its version goes up by one with each command, no
// matter how many of its names the command changes.
func (v *view) saveEntity(e entityDraft) {
	e.Rev = 0
	if present := v.get(e.Ref()); present != nil {
		e.Rev = present.Revision()
	}
	if _, again := v.find(e.Ref()); !again {
		e.Rev++
	}
	v.put(e.Ref(), e.clone())
}

// activeIn returns the entity's active names in a namespace, in a steady order.
func (e entityDraft) activeIn(namespace string) []ID {
	var ids []ID
	for _, slot := range slices.Sorted(maps.Keys(e.Active)) {
		if slot == namespace || strings.HasPrefix(slot, namespace+"/") {
			ids = append(ids, e.Active[slot])
		}
	}
	return ids
}
