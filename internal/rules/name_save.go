package rules

import "github.com/calldibs/dibs"

// save stores the name with an event of this kind.
func (v *view) save(n *nameState, kind dibs.EventKind) {
	v.saveLapses(n)
	v.record(n, kind, v.now, v.actor, snapshotOf(&n.NameRecord))
	v.store(n)
}

// saveLapses adds the lapses to the history, each with its own date.
func (v *view) saveLapses(n *nameState) {
	if len(n.lapses) == 0 {
		return
	}
	for _, l := range n.lapses {
		if !l.lostBy.IsZero() {
			v.saveEntity(v.entity(n.Scope, l.lostBy))
		}
		v.record(n, l.kind, l.at, "", l.after)
	}
	n.lapses = nil
	v.store(n)
}

// saveQuietly stores the name without an event: nothing happened that followers of the feed need
// to know.
func (v *view) saveQuietly(n *nameState) {
	v.saveLapses(n)
	n.Rev++
	v.store(n)
}

// store writes the record as it is.
func (v *view) store(n *nameState) {
	n.Due = n.nextDue()
	r := n.NameRecord
	v.put(r.Ref(), &r)
}

// record appends the event that took the name from n.before to after. Each event has its own
// revision.
func (v *view) record(n *nameState, kind dibs.EventKind, at dibs.Instant, actor string, after dibs.Snapshot) {
	n.Rev++
	e := dibs.Event{
		Kind: kind, At: at, ID: n.ID, Namespace: n.Namespace, Canonical: n.Canonical, Value: n.Value,
		Rev: n.Rev, Epoch: after.Epoch, Before: n.before, After: after, Scope: n.Scope, Entity: after.Entity,
		Actor: actor, CorrelationID: n.CorrelationID,
	}
	if kind == dibs.EventReserved || kind == dibs.EventClaimed {
		e.Meta = n.Meta
	}
	if i, changed := v.find(entityRef(n.Scope, after.Entity)); changed {
		e.Version = v.changes[i].record.Revision()
	}
	v.events = append(v.events, e)
	n.before = after
}

// snapshotOf returns the part of a record that events show.
func snapshotOf(n *dibs.NameRecord) dibs.Snapshot {
	s := dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner}
	switch n.State {
	case dibs.Held:
		s.Entity, s.Until = n.Intended, n.ExpiresAt
	case dibs.Suspect:
		s.Entity = n.Intended
	case dibs.Alias, dibs.Quarantined:
		s.Until = n.Until
	case dibs.Free, dibs.Active: // end only by a command
	}
	return s
}
