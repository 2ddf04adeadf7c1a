package rules

import (
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// RedactAtOnce is how many events are redacted in one commit. Every engine can do so many.
const RedactAtOnce = 8

// forgottenFor is how long the record of a forgotten entity keeps its revision: longer than any
// decision takes.
const forgottenFor = 30 * 24 * time.Hour

// Forgotten is the outcome of forgetting one name.
type Forgotten struct {
	Changed bool
	Again   bool // decide again, with the history read anew
	Erased  bool // the name is a tombstone now; else only its history was redacted
	Name    *dibs.Name
}

// ForgetName forgets one name, and its rows from before the rules of its namespace changed.
func (set *Policies) ForgetName(req dibs.ForgetRequest) (*Job[Forgotten], *dibs.Error) {
	p := set.preparer()
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

// mayForget refuses to forget a name that is taken, unless it is that entity's.
func (t *target) mayForget(n *nameState, entity dibs.Entity) *dibs.Error {
	has := n.Owner
	if n.held() || n.State == dibs.Free && has.IsZero() {
		has = n.Intended
	}
	switch {
	case !entity.IsZero() && !has.IsZero() && has != entity:
		return t.refuse(dibs.CodeNotOwner, "%s is not a name of %s", t.key(), entity)
	case n.State == dibs.Free, n.State == dibs.Quarantined, !entity.IsZero() && has == entity:
		return nil
	default:
		err := t.refuseTaken(n, dibs.Entity{})
		err.Message += ": name the entity that has it, or forget the entity"
		return err
	}
}

// ForgetIn forgets a person in the row of a name, whose history is known up to a revision. One
// commit redacts at most [RedactAtOnce] events.
func (set *Policies) ForgetIn(ref dibs.Ref, who Person, rev uint64, history []dibs.Event, dryRun bool) *Job[Forgotten] {
	atOnce := RedactAtOnce
	if dryRun {
		atOnce = len(history)
	}
	p := set.preparer(ref)
	j := newJob(p, func(v *view) (Forgotten, *dibs.Error) {
		if v.absent(ref) {
			return Forgotten{}, nil
		}
		n := v.nameByID(ref.ID, ref.Scope)
		if n.Rev != rev {
			return Forgotten{Again: true}, nil
		}
		if n.forgotten() {
			return Forgotten{}, nil
		}
		if who.has(n, history) {
			return p.erase(v, n)
		}
		r := who.redact(n, history)
		if len(r.events) == 0 && !r.row {
			return Forgotten{}, nil
		}
		// Do this before events are redacted: r.concerns needs the whole history.
		n.Spent = slices.DeleteFunc(slices.Clone(n.Spent), r.concerns)
		if len(r.events) > atOnce {
			v.redacts = append(v.redacts, r.events[:atOnce]...)
			v.saveQuietly(n)
			return Forgotten{Again: true}, nil
		}
		v.redacts = append(v.redacts, r.events...)
		if r.row {
			n.dropDetails()
		}
		v.save(n, dibs.EventForgotten)
		name := v.show(n)
		return Forgotten{Changed: true, Name: &name}, nil
	})
	j.dryRun = dryRun
	return j
}

// ForgottenEntity is the outcome of [Policies.ForgetEntity].
type ForgottenEntity struct {
	Changed  bool
	HasNames bool // nothing was done, because the entity still has names
}

// ForgetEntity forgets the record of a person's entity, and [RedactAtOnce] events at most about the
// entity as a whole.
func (set *Policies) ForgetEntity(who Person, events []dibs.Event) *Job[ForgottenEntity] {
	p := set.preparer(entityRef(who.Scope, who.Entity))
	return newJob(p, func(v *view) (ForgottenEntity, *dibs.Error) {
		ref := entityRef(who.Scope, who.Entity)
		r, ok := v.peek(ref).(*dibs.EntityRecord)
		if len(events) == 0 && (v.absent(ref) || ok && isForgotten(r)) {
			return ForgottenEntity{}, nil
		}
		if names, _ := v.namesOf(who.Scope, who.Entity); slices.ContainsFunc(names, func(id dibs.ID) bool {
			n := v.nameByID(id, who.Scope)
			return n != nil && n.ownedBy(who.Entity)
		}) {
			return ForgottenEntity{HasNames: true}, nil
		}
		for _, e := range events {
			e.Entity, e.Actor, e.Version = dibs.Entity{}, "", 0
			v.redacts = append(v.redacts, e)
		}
		e := v.entity(who.Scope, who.Entity)
		tombstone := &dibs.EntityRecord{ID: e.ID, Rev: e.Rev + 1, Scope: e.Scope, Deleted: true, Due: v.now.Add(forgottenFor)}
		v.renew(ref)
		v.put(ref, tombstone)
		return ForgottenEntity{Changed: true}, nil
	})
}
