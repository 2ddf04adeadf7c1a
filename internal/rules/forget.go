package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// forgottenMark begins what stands for the canonical form of a forgotten name. No
	// name has a control character in it.
	forgottenMark = "\x7f"

	// forgottenFor is how long the record of a forgotten entity keeps its revision: no
	// decision is under way for as long.
	forgottenFor = 30 * 24 * time.Hour

	// redactAtOnce is how many events are redacted in one commit. Every engine can.
	RedactAtOnce = 8
)

// forgottenLabel stands for the canonical form of a forgotten name.
func ForgottenLabel(id dibs.ID) string { return forgottenMark + id.String() }

// forgotten reports whether the row is a tombstone: it keeps a name back for as long as
// was promised, and does not know which.
func (n *nameState) forgotten() bool { return isTombstone(&n.NameRecord) }

func isTombstone(n *dibs.NameRecord) bool { return strings.HasPrefix(n.Canonical, forgottenMark) }

// isForgotten reports whether nothing but a revision is left of the entity.
func isForgotten(e *dibs.EntityRecord) bool { return e.Entity.IsZero() }

// veil hides what stands for the canonical form of forgotten names.
func HideForgotten(events []dibs.Event) []dibs.Event {
	for i := range events {
		if e := &events[i]; strings.HasPrefix(e.Canonical, forgottenMark) {
			e.Canonical, e.Value = "", ""
		}
	}
	return events
}

// forgotten is what forgetting one name came to.
type Forgotten struct {
	Changed bool
	Again   bool // it has to be decided again, on the history as it is then
	Erased  bool // nothing is left of the name; else its history has lost a person
	Name    *dibs.Name
}

// erase makes a tombstone of a name, in whatever state it is. A quarantine goes on, for
// every entity: the tombstone does not know whose name it was.
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
		// What looks like it is kept back too, and a keyed hash still leads here.
		Links: slices.DeleteFunc(slices.Clone(n.Links), func(l dibs.Link) bool {
			_, folder := indexKeyOf(l, n)
			return !folder
		}),
	}
	n.before.Entity, n.lapses = dibs.Entity{}, nil
	v.restartHistory(n, v.now, snapshotOf(&n.NameRecord))
	v.store(n)
	return Forgotten{Changed: true, Erased: true, Name: &shown}, nil
}

// letGo ends a hold or an ownership, and what counts for it elsewhere.
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

// dropQuota removes the quota of the principal that reserved the name, unless it holds
// others: there is a name on it.
func (v *view) dropQuota(n *nameState, ns namespaceInfo) *dibs.Error {
	ref, _ := quotaRef(n.Namespace, n.Scope, n.Principal)
	if v.absent(ref) {
		return nil
	}
	q, rev := readQuota(v, ref)
	q.drop(n.ID, v.now)
	if len(q.Holds) > 0 {
		return nil
	}
	record, at, err := readNamespaceRecord(v, ns)
	if err != nil {
		return err
	}
	v.put(ref, nil)
	v.raiseRecord(ns, record, at, 0, rev)
	return nil
}

// retell begins the history of a row anew, with the word that there was another one.
// Whoever follows the feed may not have heard of it yet.
func (v *view) restartHistory(n *nameState, at dibs.Instant, now dibs.Snapshot) {
	v.renew(n.Ref())
	v.record(n, dibs.EventForgotten, at, "", now)
}

// remember gives a forgotten name its canonical form back, for somebody who knows it.
func (n *nameState) remember(t *target) {
	n.Value, n.Canonical, n.lapses = t.value, t.canonical, nil
	n.before = snapshotOf(&n.NameRecord)
}

// forgetName forgets one name, and what it was called before the rules of its namespace
// changed.
func (set *Policies) ForgetName(req dibs.ForgetRequest) (*Job[Forgotten], *dibs.Error) {
	p := &preparer{policies: set}
	t, err := p.target(req.Namespace, req.Value, "")
	if err == nil {
		err = checkOptionalEntity(req.Entity)
	}
	if err == nil && req.Scope != "" && req.Scope != t.scope {
		err = t.refuse(dibs.CodeInvalidNamespace, "%s is not in the scope %s", t.namespace, quote(req.Scope))
	}
	if err != nil {
		return nil, err
	}
	j := newJob(p, func(v *view) (Forgotten, *dibs.Error) {
		if v.hasNoRow(t) {
			return Forgotten{}, nil
		}
		n := v.name(t)
		if n.forgotten() {
			return Forgotten{}, nil
		}
		if err := t.mayForget(n, req.Entity); err != nil {
			return Forgotten{}, err
		}
		for _, id := range n.linked(dibs.LinkMovedFrom) {
			if v.absent(nameRef(n.Scope, id)) {
				continue
			}
			former := v.nameByID(id, n.Scope)
			if former.State == dibs.Free && slices.Contains(former.linked(dibs.LinkMovedTo), n.ID) {
				if _, err := p.erase(v, former); err != nil {
					return Forgotten{}, err
				}
			}
		}
		return p.erase(v, n)
	})
	j.dryRun = req.DryRun
	return j, nil
}

// mayForget refuses to forget a name that somebody has, unless it is that entity's.
func (t *target) mayForget(n *nameState, entity dibs.Entity) *dibs.Error {
	has := n.Owner
	switch {
	case n.held():
		has = n.Intended
	case n.State == dibs.Free && has.IsZero():
		has = n.Intended
	}
	switch {
	case !entity.IsZero() && !has.IsZero() && has != entity:
		return t.refuse(dibs.CodeNotOwner, "%s is not a name of %s", t.key(), entity)
	case n.State == dibs.Free, n.State == dibs.Quarantined, !entity.IsZero() && has == entity:
		return nil
	default:
		err := t.taken(n, dibs.Entity{})
		err.Message += ": name the entity that has it, or forget the entity"
		return err
	}
}
