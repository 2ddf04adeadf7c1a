package rules

import (
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// forgottenMark is the prefix of the label of a forgotten name. No name has a control character.
const forgottenMark = "\x7f"

// ForgottenLabel replaces the canonical form of a forgotten name.
func ForgottenLabel(id dibs.ID) string { return forgottenMark + id.String() }

// forgotten reports whether the row is a tombstone: it keeps a name in quarantine as long as the
// policy promised, and does not contain the name.
func (n *nameState) forgotten() bool { return strings.HasPrefix(n.Canonical, forgottenMark) }

// isForgotten reports whether only a revision is left of the entity.
func isForgotten(e *dibs.EntityRecord) bool { return e.Entity.IsZero() }

// HideForgotten removes the labels of forgotten names from events, in place, and returns them.
func HideForgotten(events []dibs.Event) []dibs.Event {
	for i := range events {
		if e := &events[i]; strings.HasPrefix(e.Canonical, forgottenMark) {
			e.Canonical, e.Value = "", ""
		}
	}
	return events
}

// erase makes a tombstone of a name in any state. A quarantine goes on, for every entity: the
// tombstone does not know the owner.
func (p *preparer) erase(v *view, n *nameState) (Forgotten, *dibs.Error) {
	ns, err := p.policies.namespace(n.Namespace)
	if err != nil {
		return Forgotten{}, err
	}
	shown := v.show(n)
	if err := v.endUse(n, ns); err != nil {
		return Forgotten{}, err
	}
	shown.State, shown.Until = n.State, n.Until.Time()
	n.NameRecord = dibs.NameRecord{
		ID: n.ID, Rev: n.Rev, Namespace: n.Namespace, Scope: n.Scope,
		Value: ForgottenLabel(n.ID), Canonical: ForgottenLabel(n.ID),
		State: n.State, Status: dibs.StatusReleased, Epoch: n.Epoch, EndedAt: v.now, Until: n.Until,
		Terms: dibs.Terms{HoldHistory: ns.policy.HoldHistory},
		// Its look-alikes stay in quarantine too, and a keyed hash still leads here.
		Links: slices.DeleteFunc(slices.Clone(n.Links), func(l dibs.Link) bool {
			_, indexed := indexKeyOf(l, n)
			return !indexed
		}),
	}
	n.before.Entity, n.lapses = dibs.Entity{}, nil
	v.restartHistory(n, v.now, snapshotOf(&n.NameRecord))
	v.store(n)
	return Forgotten{Changed: true, Erased: true, Name: &shown}, nil
}

// endUse ends a hold or an ownership, and what counts for it elsewhere.
func (v *view) endUse(n *nameState, ns namespaceInfo) *dibs.Error {
	switch n.State {
	case dibs.Active, dibs.Alias:
		e := v.entity(n.Scope, n.Owner)
		e.deactivate(n)
		v.saveEntity(e)
		n.giveUp(ns.policy.Quarantine, v.now)
	case dibs.Held, dibs.Suspect:
		v.uncountHold(n)
		n.endHold(dibs.StatusReleased, v.now)
	case dibs.Free, dibs.Quarantined:
	}
	return v.dropQuota(n, ns)
}

// restartHistory begins the history of a row anew, with an event that says so: followers of the
// feed may not have read the events that it deletes.
func (v *view) restartHistory(n *nameState, at dibs.Instant, now dibs.Snapshot) {
	v.renew(n.Ref())
	v.record(n, dibs.EventForgotten, at, "", now)
}

// remember gives a forgotten name its canonical form back, for a caller that knows it.
func (n *nameState) remember(t *target) {
	n.Value, n.Canonical, n.lapses = t.value, t.canonical, nil
	n.before = snapshotOf(&n.NameRecord)
}
