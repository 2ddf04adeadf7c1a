package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// rename prepares a Rename.
func (p *preparer) rename(c dibs.Rename) (decision, *dibs.Error) {
	t, err := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, t.about(err)
	}
	if err := t.checkDetails(c.CorrelationID, nil); err != nil {
		return nil, err
	}
	p.wantEntity(t.scope, c.Entity)
	var from *target
	if c.From != "" {
		if from, err = p.target(c.Namespace, c.From, c.Field); err != nil {
			return nil, err
		}
	}
	var token dibs.TokenHash
	if c.Token != "" {
		if token, err = hashToken(c.Token); err != nil {
			return nil, t.about(err)
		}
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		e := v.entity(t.scope, c.Entity)
		// The entity has this name, and none that it was to replace.
		stands := n.State == dibs.Active && v.owns(c.Entity, n)
		if stands && from != nil {
			id := v.idOf(from)
			stands = id == n.ID || !slices.Contains(e.activeIn(t.namespace), id)
		}
		// Where values are hidden there is no other way to write it: only the key that
		// hides it may be another.
		if stands && (n.Value == t.value || t.policy.blind()) {
			return v.ownedResult(n, true), nil
		}
		if c.IfVersion != 0 && c.IfVersion != e.Rev {
			return dibs.Result{}, t.refuse(dibs.CodeVersionMismatch, "the entity is at version %d, not %d: read it again before you change it", e.Rev, c.IfVersion)
		}
		if err := t.mayOwn(e); err != nil {
			return dibs.Result{}, err
		}
		// Another spelling may be another name, by other rules.
		if _, err := v.recordForNewName(t); err != nil {
			return dibs.Result{}, err
		}
		if stands {
			v.respell(n, e, t, c.CorrelationID)
			return v.ownedResult(n, false), nil
		}
		old, err := p.activeToReplace(v, t, e, from)
		if err != nil {
			return dibs.Result{}, err
		}
		kind, err := p.obtain(v, n, t, c, token)
		if err != nil {
			return dibs.Result{}, err
		}
		v.makeActive(old, n, e, t, kind)
		return v.ownedResult(n, false), nil
	}, nil
}

// obtain gets the new name of a Rename ready to become active: the entity's own alias, a name held
// with the token, or a free one. It returns the kind of the event.
func (p *preparer) obtain(v *view, n *nameState, t *target, c dibs.Rename, token dibs.TokenHash) (dibs.EventKind, *dibs.Error) {
	switch {
	case n.State == dibs.Alias && n.Owner == c.Entity:
		n.Value = t.value
		setIfAny(&n.CorrelationID, c.CorrelationID)
		return dibs.EventRevived, nil
	case n.held() && n.heldBy(token, p.principal):
		if err := t.intendedFor(n, c.Entity); err != nil {
			return "", err
		}
		v.uncountHold(n)
		n.Value = t.value
		setIfAny(&n.CorrelationID, c.CorrelationID)
		return dibs.EventConfirmed, nil
	}
	if err := v.available(t, n, c.Entity); err != nil {
		return "", err
	}
	if err := v.beginEpoch(n, t); err != nil {
		return "", err
	}
	n.Principal, n.CorrelationID = p.principal.Name, c.CorrelationID
	return dibs.EventClaimed, nil
}

// respell changes how the active name is written, not which name it is.
func (v *view) respell(n *nameState, e entityState, t *target, correlationID string) {
	n.Value = t.value
	setIfAny(&n.CorrelationID, correlationID)
	v.saveEntity(e)
	v.save(n, dibs.EventRespelled)
}

// setIfAny sets a field, unless the value is empty.
func setIfAny(field *string, value string) {
	if value != "" {
		*field = value
	}
}
