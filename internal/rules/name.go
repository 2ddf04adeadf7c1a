package rules

import (
	"maps"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// draft is a name that a command is deciding about: the record as it stands now,
// with everything ended that ended by itself.
type nameState struct {
	dibs.NameRecord
	before dibs.Snapshot // after its last event
	lapses []lapse       // what ended by itself and is not in the history yet
}

// exists reports whether the name has a row.
func (d *nameState) exists() bool { return d.Rev > 0 }

// name returns the draft of a name, free where it has no row.
func (v *view) name(s *target) *nameState {
	if d := v.lookUp(s); d != nil {
		return d
	}
	return s.newState()
}

// draft returns the draft of a name without a row.
func (s *target) newState() *nameState {
	d := &nameState{NameRecord: dibs.NameRecord{
		ID: s.id, Namespace: s.namespace, Scope: s.scope, Canonical: s.canonical, State: dibs.Free,
	}}
	d.before = snapshotOf(&d.NameRecord)
	return d
}

// lookUp returns the draft of a name, or nil where it has no row.
func (v *view) lookUp(s *target) (found *nameState) {
	if len(s.hashes) == 0 {
		d := v.nameByID(s.id, s.scope)
		if d == nil || len(d.linked(dibs.LinkMovedTo)) == 0 {
			return d
		}
		// Who asks by the rules that there are now knows where names are. Others are led
		// on, unless what was in the row is another name by their rules; one that is free
		// now did not go on.
		to := v.follow(s.id, s.scope)
		if to.ID != d.ID && to.State != dibs.Free && to.Profile != s.policy.profileName && s.means(d.Value) {
			return to
		}
		return d
	}
	// All keys lead to the same row. If they do not, because somebody left out a key
	// that names are filed under, the one that is taken counts.
	folders := slices.DeleteFunc(slices.Clone(s.hashes), func(f indexKey) bool { return v.see(f.Ref) == nil })
	switch len(folders) {
	case len(s.hashes):
	case 0: // whoever makes the row now writes all of them
		folders = s.hashes
	default: // filed under a key that is not the newest: nobody ends that the others are absent
		v.mustKnow()
	}
	for _, f := range folders {
		names, _ := v.indexed(f)
		for _, id := range names {
			if d := v.follow(id, s.scope); d != nil && (found == nil || found.State == dibs.Free) {
				found = d
			}
		}
	}
	return found
}

// means reports whether a value is this name, by the rules of the subject.
func (s *target) means(value string) bool {
	canonical, err := s.policy.canonical(value)
	return err == nil && canonical == s.canonical
}

// unknown reports whether a name has no row, for a decision that does not end that.
func (v *view) unknown(s *target) bool {
	if len(s.hashes) == 0 {
		return v.absent(s.ref())
	}
	return !slices.ContainsFunc(s.hashes, func(f indexKey) bool { return !v.absent(f.Ref) })
}

// idOf returns the ID of the row that a name has, or would have.
func (v *view) idOf(s *target) dibs.ID {
	if v.unknown(s) {
		return s.id
	}
	return v.name(s).ID
}

// maxMoves is how often the rules of a namespace can change before those who still
// have a reservation id from the beginning lose track.
const maxMoves = 8

// follow is nameByID for who may not know yet that the name is in another row now.
func (v *view) follow(id dibs.ID, scope string) *nameState {
	d := v.nameByID(id, scope)
	for range maxMoves {
		if d == nil {
			break
		}
		to := d.linked(dibs.LinkMovedTo)
		if len(to) == 0 || v.absent(dibs.Ref{Kind: dibs.KindName, Scope: d.Scope, ID: to[0]}) {
			break
		}
		d = v.nameByID(to[0], d.Scope)
	}
	return d
}

// followVisible is follow for a caller that may see names of some namespaces only; a name of
// another one is nil. That is asked before anything else is: what a hidden row leads to takes
// further reads, and whether it has ended by itself takes a wait, so the time of the answer
// would tell that there is such a row. A name never leaves its namespace.
func (v *view) followVisible(id dibs.ID, visible func(namespace string) bool) *nameState {
	r, _ := v.get(dibs.Ref{Kind: dibs.KindName, ID: id}).(*dibs.NameRecord)
	if r == nil || !visible(r.Namespace) {
		return nil
	}
	return v.follow(id, "")
}

// nameByID returns the draft of a name, or nil where it has no row. Who asks by ID
// alone does not know the scope.
func (v *view) nameByID(id dibs.ID, scope string) *nameState {
	r, _ := v.get(dibs.Ref{Kind: dibs.KindName, Scope: scope, ID: id}).(*dibs.NameRecord)
	if r == nil {
		return nil
	}
	d := &nameState{NameRecord: *r, before: snapshotOf(r)}
	d.lapse(v.now)
	// The decision about to be taken is right from the last thing that ended by
	// itself until the next one that will.
	v.restOnEnd(r.Ref(), r.Rev, d.lapsedAt())
	v.narrow(0, d.ends())
	return d
}

// save stores the draft and tells the world what happened to it.
func (v *view) save(d *nameState, kind dibs.EventKind) {
	v.saveLapses(d)
	v.record(d, kind, v.now, v.actor, snapshotOf(&d.NameRecord))
	v.store(d)
}

// saveLapses puts into the history what ended by itself, dated when it did.
func (v *view) saveLapses(d *nameState) {
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

// keep stores the draft for bookkeeping: nothing happened that the world needs to know.
func (v *view) keep(d *nameState) {
	v.saveLapses(d)
	d.Rev++
	v.store(d)
}

// store writes the draft as it is.
func (v *view) store(d *nameState) {
	d.Due = d.nextDue()
	r := d.NameRecord
	v.put(r.Ref(), &r)
}

// record appends the event that took the name from d.before to after. Each event
// has a revision of its own.
func (v *view) record(d *nameState, kind dibs.EventKind, at dibs.Instant, actor string, after dibs.Snapshot) {
	d.Rev++
	e := dibs.Event{
		Kind: kind, At: at, ID: d.ID, Namespace: d.Namespace, Canonical: d.Canonical, Value: d.Value,
		Rev: d.Rev, Epoch: after.Epoch, Before: d.before, After: after, Scope: d.Scope, Entity: after.Entity,
		Actor: actor, CorrelationID: d.CorrelationID,
	}
	if kind == dibs.EventReserved || kind == dibs.EventClaimed {
		e.Meta = d.Meta
	}
	if i, changed := v.find(dibs.Ref{Kind: dibs.KindEntity, Scope: d.Scope, ID: dibs.EntityID(d.Scope, after.Entity)}); changed {
		e.Version = v.changes[i].record.Revision()
	}
	v.events = append(v.events, e)
	d.before = after
}

func snapshotOf(n *dibs.NameRecord) dibs.Snapshot {
	s := dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner}
	switch n.State {
	case dibs.Held:
		s.Entity, s.Until = n.Intended, n.ExpiresAt
	case dibs.Suspect:
		s.Entity = n.Intended
	case dibs.Alias, dibs.Quarantined:
		s.Until = n.Until
	case dibs.Free, dibs.Active: // end by a command alone
	}
	return s
}

// nameOf shows a record to the world. The token's hash stays behind.
func nameOf(n *dibs.NameRecord, now dibs.Instant) dibs.Name {
	var remaining time.Duration
	if n.State == dibs.Held {
		remaining = n.ExpiresAt.Sub(now)
	}
	if isTombstone(n) {
		return dibs.Name{
			ID: n.ID, Namespace: n.Namespace, State: n.State, Status: n.Status, Epoch: n.Epoch,
			EndedAt: n.EndedAt.Time(), Until: n.Until.Time(),
		}
	}
	entity := n.Owner
	if n.State == dibs.Held || n.State == dibs.Suspect || entity.IsZero() {
		entity = n.Intended
	}
	var asked int
	var askAt dibs.Instant
	if n.State == dibs.Suspect {
		asked, askAt = n.Asked, n.AskAt
	}
	return dibs.Name{
		ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		State: n.State, Status: n.Status, Epoch: n.Epoch,
		Entity: entity, Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: maps.Clone(n.Meta),
		CreatedAt: n.CreatedAt.Time(), ExpiresAt: n.ExpiresAt.Time(), Remaining: remaining, ConfirmedAt: n.ConfirmedAt.Time(),
		EndedAt: n.EndedAt.Time(), Until: n.Until.Time(), Doubt: n.Doubt, Asked: asked, AskAt: askAt.Time(),
	}
}

// show is nameOf for a draft, at the view's moment.
func (v *view) show(d *nameState) dibs.Name { return nameOf(&d.NameRecord, v.now) }

// linked returns what the name's links of a kind lead to.
func (n *nameState) linked(kind dibs.LinkKind) []dibs.ID {
	var ids []dibs.ID
	for _, l := range n.Links {
		if l.Kind == kind {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// slot is where its entity's record notes which name is the active one: one per
// namespace, or one per line where an entity has many.
func (n *nameState) slot() string {
	if n.Terms.Many {
		return n.Namespace + "/" + n.Line.String()
	}
	return n.Namespace
}
