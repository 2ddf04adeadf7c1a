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
func (d *nameState) forgotten() bool { return isTombstone(&d.NameRecord) }

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
func (p *preparer) erase(v *view, d *nameState) (Forgotten, *dibs.Error) {
	space, err := p.policies.namespace(d.Namespace)
	if err != nil {
		return Forgotten{}, err
	}
	shown := v.show(d)
	if err := v.letGo(d, space); err != nil {
		return Forgotten{}, err
	}
	shown.State, shown.Until = d.State, d.Until.Time()
	d.NameRecord = dibs.NameRecord{
		ID: d.ID, Rev: d.Rev, Namespace: d.Namespace, Scope: d.Scope,
		Value: ForgottenLabel(d.ID), Canonical: ForgottenLabel(d.ID),
		State: d.State, Status: dibs.StatusReleased, Epoch: d.Epoch, EndedAt: v.now, Until: d.Until,
		Terms: dibs.Terms{HoldHistory: space.policy.HoldHistory},
		// What looks like it is kept back too, and a keyed hash still leads here.
		Links: slices.DeleteFunc(slices.Clone(d.Links), func(l dibs.Link) bool {
			_, folder := indexKeyOf(l, d)
			return !folder
		}),
	}
	d.before.Entity, d.lapses = dibs.Entity{}, nil
	v.retell(d, v.now, snapshotOf(&d.NameRecord))
	v.store(d)
	return Forgotten{Changed: true, Erased: true, Name: &shown}, nil
}

// letGo ends a hold or an ownership, and what counts for it elsewhere.
func (v *view) letGo(d *nameState, s namespaceInfo) *dibs.Error {
	switch d.State {
	case dibs.Active, dibs.Alias:
		e := v.entity(d.Scope, d.Owner)
		if e.Active[d.slot()] == d.ID {
			delete(e.Active, d.slot())
		}
		v.saveEntity(e)
		d.giveUp(s.policy.Quarantine, v.now)
	case dibs.Held, dibs.Suspect:
		v.uncountHold(d)
		d.endHold(dibs.StatusReleased, v.now)
	case dibs.Free, dibs.Quarantined:
	}
	return v.dropQuota(d, s)
}

// dropQuota removes the quota of the principal that reserved the name, unless it holds
// others: there is a name on it.
func (v *view) dropQuota(d *nameState, s namespaceInfo) *dibs.Error {
	ref, _ := quotaRef(d.Namespace, d.Scope, d.Principal)
	if v.absent(ref) {
		return nil
	}
	q, rev := readQuota(v, ref)
	q.forget(d.ID, v.now)
	if len(q.Holds) > 0 {
		return nil
	}
	f, at, err := readNamespaceRecord(v, s)
	if err != nil {
		return err
	}
	v.put(ref, nil)
	v.raiseNamespaceRecord(s, f, at, 0, rev)
	return nil
}

// retell begins the history of a row anew, with the word that there was another one.
// Whoever follows the feed may not have heard of it yet.
func (v *view) retell(d *nameState, at dibs.Instant, now dibs.Snapshot) {
	v.renew(d.Ref())
	v.record(d, dibs.EventForgotten, at, "", now)
}

// remember gives a forgotten name its canonical form back, for somebody who knows it.
func (d *nameState) remember(s *target) {
	d.Value, d.Canonical, d.lapses = s.value, s.canonical, nil
	d.before = snapshotOf(&d.NameRecord)
}

// forgetName forgets one name, and what it was called before the rules of its namespace
// changed.
func (set *Policies) ForgetName(req dibs.ForgetRequest) (*Job[Forgotten], *dibs.Error) {
	p := &preparer{policies: set}
	s, err := p.address(req.Namespace, req.Value, "")
	if err == nil {
		err = checkOptionalEntity(req.Entity)
	}
	if err == nil && req.Scope != "" && req.Scope != s.scope {
		err = s.refuse(dibs.CodeInvalidNamespace, "%s is not in the scope %s", s.namespace, quote(req.Scope))
	}
	if err != nil {
		return nil, err
	}
	j := newJob(p, func(v *view) (Forgotten, *dibs.Error) {
		if v.unknown(s) {
			return Forgotten{}, nil
		}
		d := v.name(s)
		if d.forgotten() {
			return Forgotten{}, nil
		}
		if err := s.mayForget(d, req.Entity); err != nil {
			return Forgotten{}, err
		}
		for _, id := range d.linked(dibs.LinkMovedFrom) {
			if v.absent(dibs.Ref{Kind: dibs.KindName, Scope: d.Scope, ID: id}) {
				continue
			}
			former := v.nameByID(id, d.Scope)
			if former.State == dibs.Free && slices.Contains(former.linked(dibs.LinkMovedTo), d.ID) {
				if _, err := p.erase(v, former); err != nil {
					return Forgotten{}, err
				}
			}
		}
		return p.erase(v, d)
	})
	j.dryRun = req.DryRun
	return j, nil
}

// mayForget refuses to forget a name that somebody has, unless it is that entity's.
func (s *target) mayForget(d *nameState, entity dibs.Entity) *dibs.Error {
	has := d.Owner
	switch {
	case d.alive():
		has = d.Intended
	case d.State == dibs.Free && has.IsZero():
		has = d.Intended
	}
	switch {
	case !entity.IsZero() && !has.IsZero() && has != entity:
		return s.refuse(dibs.CodeNotOwner, "%s is not a name of %s", s.key(), entity)
	case d.State == dibs.Free, d.State == dibs.Quarantined, !entity.IsZero() && has == entity:
		return nil
	default:
		err := s.taken(d, dibs.Entity{})
		err.Message += ": name the entity that has it, or forget the entity"
		return err
	}
}
