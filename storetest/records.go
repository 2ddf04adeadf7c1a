package storetest

import (
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// standing is a valid pair of state and status.
type standing struct {
	state  dibs.State
	status dibs.Status
}

// standings are all valid pairs: engines may refuse others.
var standings = []standing{
	{dibs.Held, dibs.StatusReserved},
	{dibs.Suspect, dibs.StatusSuspect},
	{dibs.Active, dibs.StatusConfirmed},
	{dibs.Alias, dibs.StatusConfirmed},
	{dibs.Quarantined, dibs.StatusReleased},
	{dibs.Quarantined, dibs.StatusExpired},
	{dibs.Free, dibs.StatusReleased},
	{dibs.Free, dibs.StatusExpired},
}

// statusOf returns a status that goes with a state.
func statusOf(state dibs.State) dibs.Status {
	for _, s := range standings {
		if s.state == state {
			return s.status
		}
	}
	panic(fmt.Sprintf("storetest: no status for state %q", state))
}

// name makes a new name with only the fields that its state needs. Its owner, if
// any, is an entity that owns no other name.
func name(namespace, canonical string, state dibs.State) *dibs.NameRecord {
	id := dibs.NameID(namespace, canonical)
	n := &dibs.NameRecord{
		ID: id, Rev: 1, Namespace: namespace, Scope: dibs.ScopeOf(namespace),
		Value: canonical, Canonical: canonical, Profile: "exact/1",
		State: state, Status: statusOf(state), Epoch: 1, CreatedAt: dibs.InstantOf(epoch),
	}
	switch state {
	case dibs.Held, dibs.Suspect:
		n.Token = dibs.TokenHash{1}
		n.ExpiresAt = n.CreatedAt.Add(time.Hour)
	case dibs.Active, dibs.Alias, dibs.Quarantined:
		n.Owner = dibs.Entity{Type: "user", ID: id.String()}
		n.ConfirmedAt = n.CreatedAt
		n.Established = true
	case dibs.Free: // has no owner
	}
	if state == dibs.Quarantined {
		n.Until = n.CreatedAt.Add(time.Hour)
	}
	return n
}

// ownedBy makes a new name of an entity.
func ownedBy(owner dibs.Entity, namespace, canonical string, state dibs.State) *dibs.NameRecord {
	n := name(namespace, canonical, state)
	n.Owner = owner
	return n
}

// next returns a name's next revision, with a change.
func next(n *dibs.NameRecord, change func(n *dibs.NameRecord)) *dibs.NameRecord {
	c := *n
	c.Rev++
	if change != nil {
		change(&c)
	}
	return &c
}

// entity makes a new record of an entity.
func entity(scope string, owner dibs.Entity) *dibs.EntityRecord {
	return &dibs.EntityRecord{ID: dibs.EntityID(scope, owner), Rev: 1, Scope: scope, Entity: owner}
}

// document makes a new document. Its ID follows from kind and label.
func document(kind dibs.Kind, label string) *dibs.Document {
	return &dibs.Document{
		Kind: kind, ID: dibs.NameID(string(kind), label), Rev: 1,
		Label: label, Data: []byte(label),
	}
}

// happened makes the event of a name's current revision.
func happened(kind dibs.EventKind, n *dibs.NameRecord) dibs.Event {
	return dibs.Event{
		Kind: kind, At: n.CreatedAt,
		ID: n.ID, Namespace: n.Namespace, Canonical: n.Canonical, Value: n.Value,
		Rev: n.Rev, Epoch: n.Epoch, Scope: n.Scope, Entity: n.Owner,
		After: dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner},
	}
}

// aboutEntity makes the event of an entity's current revision.
func aboutEntity(kind dibs.EventKind, r *dibs.EntityRecord) dibs.Event {
	return dibs.Event{Kind: kind, At: dibs.InstantOf(epoch), Scope: r.Scope, Entity: r.Entity, Version: r.Rev}
}

// refsOf returns the refs of records.
func refsOf(records ...dibs.Record) []dibs.Ref {
	refs := make([]dibs.Ref, len(records))
	for i, record := range records {
		refs[i] = record.Ref()
	}
	return refs
}
