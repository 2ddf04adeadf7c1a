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
func (n *nameState) exists() bool { return n.Rev > 0 }

// name returns the draft of a name, free where it has no row.
func (v *view) name(t *target) *nameState {
	if n := v.lookUp(t); n != nil {
		return n
	}
	return t.newState()
}

// draft returns the draft of a name without a row.
func (t *target) newState() *nameState {
	n := &nameState{NameRecord: dibs.NameRecord{
		ID: t.id, Namespace: t.namespace, Scope: t.scope, Canonical: t.canonical, State: dibs.Free,
	}}
	n.before = snapshotOf(&n.NameRecord)
	return n
}

// lookUp returns the draft of a name, or nil where it has no row.
func (v *view) lookUp(t *target) (found *nameState) {
	if len(t.hashes) == 0 {
		n := v.nameByID(t.id, t.scope)
		if n == nil || len(n.linked(dibs.LinkMovedTo)) == 0 {
			return n
		}
		// Who asks by the rules that there are now knows where names are. Others are led
		// on, unless what was in the row is another name by their rules; one that is free
		// now did not go on.
		to := v.follow(t.id, t.scope)
		if to.ID != n.ID && to.State != dibs.Free && to.Profile != t.policy.profileName && t.means(n.Value) {
			return to
		}
		return n
	}
	// All keys lead to the same row. If they do not, because somebody left out a key
	// that names are filed under, the one that is taken counts.
	keys := slices.DeleteFunc(slices.Clone(t.hashes), func(key indexKey) bool { return v.peek(key.Ref) == nil })
	switch len(keys) {
	case len(t.hashes):
	case 0: // whoever makes the row now writes all of them
		keys = t.hashes
	default: // filed under a key that is not the newest: nobody ends that the others are absent
		v.requireLoad()
	}
	for _, key := range keys {
		names, _ := v.readIndex(key)
		for _, id := range names {
			if n := v.follow(id, t.scope); n != nil && (found == nil || found.State == dibs.Free) {
				found = n
			}
		}
	}
	return found
}

// means reports whether a value is this name, by the rules of the subject.
func (t *target) means(value string) bool {
	canonical, err := t.policy.canonical(value)
	return err == nil && canonical == t.canonical
}

// unknown reports whether a name has no row, for a decision that does not end that.
func (v *view) hasNoRow(t *target) bool {
	if len(t.hashes) == 0 {
		return v.absent(t.ref())
	}
	return !slices.ContainsFunc(t.hashes, func(key indexKey) bool { return !v.absent(key.Ref) })
}

// idOf returns the ID of the row that a name has, or would have.
func (v *view) idOf(t *target) dibs.ID {
	if v.hasNoRow(t) {
		return t.id
	}
	return v.name(t).ID
}

// maxMoves is how often the rules of a namespace can change before those who still
// have a reservation id from the beginning lose track.
const maxMoves = 8

// follow is nameByID for who may not know yet that the name is in another row now.
func (v *view) follow(id dibs.ID, scope string) *nameState {
	n := v.nameByID(id, scope)
	for range maxMoves {
		if n == nil {
			break
		}
		to := n.linked(dibs.LinkMovedTo)
		if len(to) == 0 || v.absent(nameRef(n.Scope, to[0])) {
			break
		}
		n = v.nameByID(to[0], n.Scope)
	}
	return n
}

// followVisible is follow for a caller that may see names of some namespaces only; a name of
// another one is nil. That is asked before anything else is: what a hidden row leads to takes
// further reads, and whether it has ended by itself takes a wait, so the time of the answer
// would tell that there is such a row. A name never leaves its namespace.
func (v *view) followVisible(id dibs.ID, visible func(namespace string) bool) *nameState {
	r, _ := v.get(nameRef("", id)).(*dibs.NameRecord)
	if r == nil || !visible(r.Namespace) {
		return nil
	}
	return v.follow(id, "")
}

// nameByID returns the draft of a name, or nil where it has no row. Who asks by ID
// alone does not know the scope.
func (v *view) nameByID(id dibs.ID, scope string) *nameState {
	r, _ := v.get(nameRef(scope, id)).(*dibs.NameRecord)
	if r == nil {
		return nil
	}
	n := stateOf(r, v.now)
	// The decision about to be taken is right from the last thing that ended by
	// itself until the next one that will.
	v.noteEnd(r.Ref(), r.Rev, n.lapsedAt())
	v.narrow(0, n.ends())
	return n
}

// save stores the draft and tells the world what happened to it.
func (v *view) save(n *nameState, kind dibs.EventKind) {
	v.saveLapses(n)
	v.record(n, kind, v.now, v.actor, snapshotOf(&n.NameRecord))
	v.store(n)
}

// saveLapses puts into the history what ended by itself, dated when it did.
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

// keep stores the draft for bookkeeping: nothing happened that the world needs to know.
func (v *view) saveQuietly(n *nameState) {
	v.saveLapses(n)
	n.Rev++
	v.store(n)
}

// store writes the draft as it is.
func (v *view) store(n *nameState) {
	n.Due = n.nextDue()
	r := n.NameRecord
	v.put(r.Ref(), &r)
}

// record appends the event that took the name from d.before to after. Each event
// has a revision of its own.
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

// nameRef returns the ref of a name's row. A caller that asks by ID does not know the scope, and
// leaves it empty.
func nameRef(scope string, id dibs.ID) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindName, Scope: scope, ID: id}
}

// result returns the result of a command on one name.
func (v *view) result(n *nameState, replayed bool) dibs.Result {
	return dibs.Result{Names: []dibs.Name{v.show(n)}, Replayed: replayed}
}

// show is nameOf for a draft, at the view's moment.
func (v *view) show(n *nameState) dibs.Name { return nameOf(&n.NameRecord, v.now) }

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
