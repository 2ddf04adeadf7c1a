package rules

import (
	"cmp"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
)

// renaming is a Rename after all checks that need no record. Its target is the new name.
type renaming struct {
	*target
	command   dibs.Rename
	from      *target // the name to replace, if the command says which
	token     dibs.TokenHash
	principal dibs.Principal
}

func (p *preparer) rename(c dibs.Rename) decision {
	t := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	p.check(cmp.Or(t.about(checkEntity(c.Entity)), t.checkDetails(c.CorrelationID, nil)))
	p.want(entityRef(t.scope, c.Entity))
	r := &renaming{target: t, command: c, principal: p.principal}
	if c.From != "" {
		r.from = p.target(c.Namespace, c.From, c.Field)
	}
	if c.Token != "" {
		hash, err := hashToken(c.Token)
		p.check(t.about(err))
		r.token = hash
	}
	return r.decide
}

// decide gives the entity the new name, or changes how its name is written.
func (r *renaming) decide(v *view) (dibs.Result, *dibs.Error) {
	n := v.name(r.target)
	e := v.entity(r.scope, r.command.Entity)
	done := r.isDone(v, n, e)
	// In a blind namespace the value is a hash, which differs by the key and not by the spelling.
	if done && (n.Value == r.value || r.policy.blind()) {
		return v.ownedResult(n, true), nil
	}
	if version := r.command.IfVersion; version != 0 && version != e.Rev {
		return dibs.Result{}, r.refuse(dibs.CodeVersionMismatch, "the entity is at version %d, not %d: read it again before you change it", e.Rev, version)
	}
	if err := r.mayOwn(e); err != nil {
		return dibs.Result{}, err
	}
	// Another spelling may be another name by other rules.
	if _, err := v.recordForNewName(r.target); err != nil {
		return dibs.Result{}, err
	}
	if done {
		r.rewrite(n) // the same name, written differently
		v.saveEntity(e)
		v.save(n, dibs.EventRespelled)
		return v.ownedResult(n, false), nil
	}
	old, err := v.activeToReplace(r.target, e, r.from)
	if err != nil {
		return dibs.Result{}, err
	}
	kind, err := r.obtain(v, n)
	if err != nil {
		return dibs.Result{}, err
	}
	v.makeActive(old, n, e, r.target, kind)
	return v.ownedResult(n, false), nil
}

// isDone reports whether the new name is the entity's active one already, and the name to replace
// is not.
func (r *renaming) isDone(v *view, n *nameState, e entityState) bool {
	if n.State != dibs.Active || !v.owns(e.Entity, n) {
		return false
	}
	if r.from == nil {
		return true
	}
	id := v.idOf(r.from)
	return id == n.ID || !slices.Contains(e.activeIn(r.namespace), id)
}

// obtain gets the new name ready to become active: the entity's own alias, a name held with the
// token, or a free one. It returns the kind of the event.
func (r *renaming) obtain(v *view, n *nameState) (dibs.EventKind, *dibs.Error) {
	entity := r.command.Entity
	switch {
	case n.State == dibs.Alias && n.Owner == entity:
		r.rewrite(n)
		return dibs.EventRevived, nil
	case n.held() && n.heldBy(r.token, r.principal):
		if err := r.checkIntended(n, entity); err != nil {
			return "", err
		}
		v.uncountHold(n)
		r.rewrite(n)
		return dibs.EventConfirmed, nil
	}
	if err := v.checkAvailable(r.target, n, entity); err != nil {
		return "", err
	}
	if err := v.beginEpoch(n, r.target); err != nil {
		return "", err
	}
	n.Principal, n.CorrelationID = r.principal.Name, r.command.CorrelationID
	return dibs.EventClaimed, nil
}

// rewrite sets how the name is written, and the correlation ID if the command has one.
func (r *renaming) rewrite(n *nameState) {
	n.Value, n.CorrelationID = r.value, cmp.Or(r.command.CorrelationID, n.CorrelationID)
}

func (p *preparer) claim(c dibs.Claim) decision {
	t := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	p.check(cmp.Or(t.about(checkEntity(c.Entity)), t.checkDetails(c.CorrelationID, c.Meta)))
	p.expectAbsent(entityRef(t.scope, c.Entity))
	meta := maps.Clone(c.Meta)
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if n.State == dibs.Active && v.owns(c.Entity, n) {
			return v.ownedResult(n, true), nil
		}
		if err := v.checkAvailable(t, n, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(t.scope, c.Entity)
		if err := cmp.Or(t.mayOwn(e), t.mayAdd(e)); err != nil {
			return dibs.Result{}, err
		}
		if err := v.beginEpoch(n, t); err != nil {
			return dibs.Result{}, err
		}
		n.Principal, n.CorrelationID, n.Meta = p.principal.Name, c.CorrelationID, meta
		v.makeActive(nil, n, e, t, dibs.EventClaimed)
		return v.ownedResult(n, false), nil
	}
}
