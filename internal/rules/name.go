package rules

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// nameState is a name that a decision is about: its record as of the view's moment, after
// everything that has ended by itself.
type nameState struct {
	dibs.NameRecord
	before dibs.Snapshot // the state after its last event
	lapses []lapse       // that are not in the history yet

	shared bool        // by decisions of a batch: none may change it
	taken  *dibs.Error // the last refusal, if the name is taken
}

func stateOf(r *dibs.NameRecord, now dibs.Instant) *nameState {
	n := &nameState{NameRecord: *r}
	n.before = n.snapshot()
	n.lapse(now)
	return n
}

func (t *target) newState() *nameState {
	r := dibs.NameRecord{ID: t.id, Namespace: t.namespace, Scope: t.scope, Canonical: t.canonical, State: dibs.Free}
	return stateOf(&r, 0)
}

// name returns the state of a name, free if it has no row.
func (v *view) name(t *target) *nameState {
	if n := v.lookUp(t); n != nil {
		return n
	}
	return t.newState()
}

// glance is name for a decision that changes nothing, or most likely refuses: if thousands ask or
// race for a name, they share its state. A decision that goes on to change it takes its own.
func (v *view) glance(t *target) *nameState {
	r, _ := v.peek(t.ref()).(*dibs.NameRecord)
	if r == nil || len(t.hashes) > 0 || slices.ContainsFunc(r.Links, func(l dibs.Link) bool { return l.Kind == dibs.LinkMovedTo }) {
		return v.name(t)
	}
	last := &v.batch.glanced
	if last.record != r {
		last.record, last.state = r, stateOf(r, v.now)
		last.state.shared = true
	}
	v.noteRead(t.ref(), r)
	v.noteTime(r, last.state)
	return last.state
}

// own returns the state of a name for a decision that changes it.
func (n *nameState) own() *nameState {
	if !n.shared {
		return n
	}
	own := *n
	own.shared, own.taken = false, nil
	return &own
}

// lookUp returns the state of a name, or nil if it has no row.
func (v *view) lookUp(t *target) (found *nameState) {
	if len(t.hashes) == 0 {
		n := v.nameByID(t.id, t.scope)
		if n == nil || len(n.linked(dibs.LinkMovedTo)) == 0 {
			return n
		}
		// A process with the present rules knows the row of a name. For a process with others,
		// follow the name to its new row, unless the value of the old row is another name by its
		// rules, or the name is free by now.
		to := v.follow(t.id, t.scope)
		if to.ID != n.ID && to.State != dibs.Free && to.Profile != t.policy.profileName && t.means(n.Value) {
			return to
		}
		return n
	}
	// All keys lead to the same row. If they do not, because a process is configured without a key
	// that names are indexed under, the taken name counts.
	keys := slices.DeleteFunc(slices.Clone(t.hashes), func(key indexKey) bool { return v.peek(key.Ref) == nil })
	if len(keys) > 0 && len(keys) < len(t.hashes) {
		v.requireLoad() // Commit does not check that the others are absent; it does if all are, and a row is made
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

// means reports whether a value is this name, by the rules of the target's policy.
func (t *target) means(value string) bool {
	canonical, err := t.policy.canonical(value)
	return err == nil && canonical == t.canonical
}

// hasNoRow reports whether a name has no row, for a decision that does not write one.
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

// nameByID returns the state of a name, or nil if it has no row. A caller that asks by ID does not
// know the scope, and leaves it empty.
func (v *view) nameByID(id dibs.ID, scope string) *nameState {
	r, _ := v.get(nameRef(scope, id)).(*dibs.NameRecord)
	if r == nil {
		return nil
	}
	n := stateOf(r, v.now)
	v.noteTime(r, n)
	return n
}

// noteTime notes when a decision on a name is right: from the last end that has come by itself
// until the next one.
func (v *view) noteTime(r *dibs.NameRecord, n *nameState) {
	v.noteEnd(r.Ref(), r.Rev, n.lapsedAt())
	v.narrow(0, n.ends())
}

// maxMoves is how often the rules of a namespace can change before a reservation ID from the
// beginning no longer leads to its name.
const maxMoves = 8

// follow is nameByID for a caller that may have the ID of a row from which the name was moved.
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

// followVisible is follow for a caller that may see only some namespaces; a name of another
// namespace is nil. The namespace is checked before anything else: following a hidden row takes
// more reads, and whether it has ended by itself takes a wait, so the time of the answer would tell
// that the row exists. A name never leaves its namespace.
func (v *view) followVisible(id dibs.ID, visible func(namespace string) bool) *nameState {
	r, _ := v.get(nameRef("", id)).(*dibs.NameRecord)
	if r == nil || !visible(r.Namespace) {
		return nil
	}
	return v.follow(id, "")
}

func (n *nameState) linked(kind dibs.LinkKind) []dibs.ID {
	var ids []dibs.ID
	for _, l := range n.Links {
		if l.Kind == kind {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// slot returns the key of the active name in its entity's record: one per namespace, or one per
// line where an entity may have many names.
func (n *nameState) slot() string {
	if n.Terms.Many {
		return n.Namespace + "/" + n.Line.String()
	}
	return n.Namespace
}

// nameRef returns the ref of a name's row. A caller that asks by ID does not know the scope, and
// leaves it empty.
func nameRef(scope string, id dibs.ID) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindName, Scope: scope, ID: id}
}

// save stores the name with an event of this kind.
func (v *view) save(n *nameState, kind dibs.EventKind) { v.saveSince(n, kind, v.now) }

// saveSince is save for an event of an earlier date.
func (v *view) saveSince(n *nameState, kind dibs.EventKind, at dibs.Instant) {
	v.saveLapses(n)
	v.record(n, kind, at, v.actor, n.snapshot())
	v.store(n)
}

// saveLapses adds the lapses to the history, each with its own date.
func (v *view) saveLapses(n *nameState) {
	if len(n.lapses) == 0 {
		return
	}
	for _, l := range n.lapses {
		if l.kind == dibs.EventGivenUp {
			v.saveEntity(v.entity(n.Scope, l.after.Entity))
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
	if beginsEpoch(kind) {
		e.Meta = n.Meta
	}
	if i, changed := v.find(entityRef(n.Scope, after.Entity)); changed {
		e.Version = v.changes[i].record.Revision()
	}
	v.events = append(v.events, e)
	n.before = after
}

// beginsEpoch reports whether an event of this kind is the first of an epoch, which has the meta.
func beginsEpoch(kind dibs.EventKind) bool {
	return kind == dibs.EventReserved || kind == dibs.EventClaimed || kind == dibs.EventImported
}

// snapshot returns the part of the record that events show.
func (n *nameState) snapshot() dibs.Snapshot {
	return dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.entity(), Until: n.ends()}
}

// held reports whether the name is held, also when its hold is over and waits for a witness.
func (n *nameState) held() bool { return n.State == dibs.Held || n.State == dibs.Suspect }

// entity returns the owner or the last owner; of a hold the intended owner.
func (n *nameState) entity() dibs.Entity {
	if n.held() {
		return n.Intended
	}
	return n.Owner
}

// result returns the result of a command on these names.
func (v *view) result(replayed bool, names ...*nameState) dibs.Result {
	result := dibs.Result{Names: make([]dibs.Name, len(names)), Replayed: replayed}
	for i, n := range names {
		result.Names[i] = n.show(v.now)
	}
	return result
}

// show returns the name as callers see it, without the hash of the token.
func (n *nameState) show(now dibs.Instant) dibs.Name {
	name := dibs.Name{
		ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		State: n.State, Status: n.Status, Epoch: n.Epoch,
		Entity: cmp.Or(n.entity(), n.Intended), Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: maps.Clone(n.Meta),
		CreatedAt: n.CreatedAt.Time(), ExpiresAt: n.ExpiresAt.Time(), ConfirmedAt: n.ConfirmedAt.Time(),
		EndedAt: n.EndedAt.Time(), Until: n.Until.Time(), Doubt: n.Doubt,
	}
	if n.forgotten() {
		name.Value, name.Canonical = "", ""
	}
	switch n.State {
	case dibs.Held:
		name.Remaining = n.ExpiresAt.Sub(now)
	case dibs.Suspect:
		name.Asked, name.AskAt = n.Asked, n.AskAt.Time()
	default:
	}
	return name
}

// ShowAsOf returns a name as of a moment. If the answer rests on time alone, it also returns the
// end that it rests on.
func ShowAsOf(r *dibs.NameRecord, now dibs.Instant) (dibs.Name, PastEnd) {
	n := stateOf(r, now)
	return n.show(now), PastEnd{r.Ref(), r.Rev, n.lapsedAt()}
}

// StateAsOf returns the state of a name as of a moment.
func StateAsOf(r *dibs.NameRecord, now dibs.Instant) dibs.State { return stateOf(r, now).State }

// lapse is the end of a state whose time was over.
type lapse struct {
	kind  dibs.EventKind
	at    dibs.Instant // when it ended, not when it was noticed
	after dibs.Snapshot
}

// lapse ends each state of the name whose time is over: a hold past its TTL, an alias past its
// retention, a quarantine past its date. One end may lead to the next. No sweep is needed: a name is
// free the instant its hold is over.
func (n *nameState) lapse(now dibs.Instant) {
	for {
		at := n.ends()
		if !at.Reached(now) {
			return
		}
		l := lapse{at: at}
		switch n.State {
		case dibs.Held:
			if n.Terms.Witnessed {
				l.kind = dibs.EventSuspected
				n.State, n.Status = dibs.Suspect, dibs.StatusSuspect
				n.Asked, n.AskAt, n.Doubt = 0, at, ""
			} else {
				l.kind = dibs.EventExpired
				n.end(dibs.StatusExpired, at)
			}
		case dibs.Alias:
			l.kind = dibs.EventGivenUp
			n.giveUp(n.Terms.Quarantine, at)
		case dibs.Quarantined:
			l.kind = dibs.EventUnlocked
			n.State, n.Until = dibs.Free, 0
		case dibs.Free, dibs.Suspect, dibs.Active: // do not end by themselves
		}
		l.after = n.snapshot()
		n.lapses = append(n.lapses, l)
	}
}

// ends returns when the name's state ends by itself, or zero if it does not.
func (n *nameState) ends() dibs.Instant {
	switch n.State {
	case dibs.Held:
		return n.ExpiresAt
	case dibs.Alias, dibs.Quarantined:
		return n.Until
	default:
		return 0
	}
}

// end ends a hold, a suspect or an ownership. A name that was reserved out of quarantine goes back
// into it, so that reserving and releasing a name does not shorten its quarantine.
func (n *nameState) end(status dibs.Status, at dibs.Instant) {
	n.Status, n.EndedAt = status, at
	n.AskAt, n.Doubt = 0, ""
	if n.Until > at {
		n.State = dibs.Quarantined
	} else {
		n.State, n.Until = dibs.Free, 0
	}
}

// giveUp ends an entity's ownership. The row keeps the entity as the last owner.
func (n *nameState) giveUp(quarantine time.Duration, at dibs.Instant) {
	n.Until = at.Add(quarantine)
	n.end(dibs.StatusReleased, at)
}

// lapsedAt returns the date of the last lapse that is not in the history yet, or zero.
func (n *nameState) lapsedAt() dibs.Instant {
	if count := len(n.lapses); count > 0 {
		return n.lapses[count-1].at
	}
	return 0
}

// nextDue returns when the sweeper has to visit the name.
func (n *nameState) nextDue() dibs.Instant {
	switch {
	case n.State == dibs.Suspect:
		return n.AskAt
	case n.State == dibs.Free && !n.Established:
		return n.EndedAt.Add(n.Terms.HoldHistory)
	default:
		return n.ends()
	}
}
