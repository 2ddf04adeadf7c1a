package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// nameState is a name that a decision is about: its record as of the view's moment, after
// everything that has ended by itself.
type nameState struct {
	dibs.NameRecord
	before dibs.Snapshot // the state after its last event
	lapses []lapse       // that are not in the history yet
}

// stateOf returns the state of a record as of a moment.
func stateOf(r *dibs.NameRecord, now dibs.Instant) *nameState {
	n := &nameState{NameRecord: *r, before: snapshotOf(r)}
	n.lapse(now)
	return n
}

// newState returns the state of a name without a row.
func (t *target) newState() *nameState {
	n := &nameState{NameRecord: dibs.NameRecord{
		ID: t.id, Namespace: t.namespace, Scope: t.scope, Canonical: t.canonical, State: dibs.Free,
	}}
	n.before = snapshotOf(&n.NameRecord)
	return n
}

// name returns the state of a name, free if it has no row.
func (v *view) name(t *target) *nameState {
	if n := v.lookUp(t); n != nil {
		return n
	}
	return t.newState()
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
	switch len(keys) {
	case len(t.hashes):
	case 0: // a decision that makes the row writes all of them
		keys = t.hashes
	default: // indexed under some keys only: Commit does not check that the others are absent
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
	// The decision is right from the last end that has come by itself until the next one.
	v.noteEnd(r.Ref(), r.Rev, n.lapsedAt())
	v.narrow(0, n.ends())
	return n
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

// linked returns the targets of the name's links of a kind.
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
