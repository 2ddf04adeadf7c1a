package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
)

// maxActive is how many active names one entity may have, where it may have many.
// All of them stand in its record.
const maxActive = 1000

func (p *preparer) claim(c dibs.Claim) (decision, *dibs.Error) {
	t, err := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, t.about(err)
	}
	if err := t.checkDetails(c.CorrelationID, c.Meta); err != nil {
		return nil, err
	}
	p.expectAbsent(entityRef(t.scope, c.Entity))
	meta := maps.Clone(c.Meta)
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if n.State == dibs.Active && v.owns(c.Entity, n) {
			return v.ownedResult(n, true), nil
		}
		if err := v.available(t, n, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(t.scope, c.Entity)
		if err := t.mayOwn(e); err != nil {
			return dibs.Result{}, err
		}
		if err := t.mayAdd(e); err != nil {
			return dibs.Result{}, err
		}
		if err := v.beginEpoch(n, t); err != nil {
			return dibs.Result{}, err
		}
		n.Principal, n.CorrelationID, n.Meta = p.principal.Name, c.CorrelationID, meta
		v.makeActive(nil, n, e, t, dibs.EventClaimed)
		return v.ownedResult(n, false), nil
	}, nil
}

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

// obtain gets the new name of a Rename ready to become active: the entity's own
// alias, a name held with the token, or a free one.
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

func (p *preparer) decommission(c dibs.Decommission) (decision, *dibs.Error) {
	t, err := p.target(c.Namespace, c.Value, "")
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, t.about(err)
	}
	p.wantEntity(t.scope, c.Entity)
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if (n.State == dibs.Free || n.State == dibs.Quarantined) && n.Owner == c.Entity {
			return v.ownedResult(n, true), nil
		}
		if err := t.ownedBy(n, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(t.scope, c.Entity)
		if err := mayGive(e); err != nil {
			return dibs.Result{}, err
		}
		result := v.giveUp(n, e, t.policy)
		result.Names, result.Version = []dibs.Name{v.show(n)}, v.entity(t.scope, c.Entity).Rev
		return result, nil
	}, nil
}

// has reports whether the name is the entity's, active or alias, and will stay so:
// the names of an entity whose deletion is under way are about to follow.
func (v *view) owns(entity dibs.Entity, n *nameState) bool {
	return (n.State == dibs.Active || n.State == dibs.Alias) && n.Owner == entity && !v.entity(n.Scope, entity).Deleted
}

// ownedBy refuses unless the name is the entity's, active or alias.
func (t *target) ownedBy(n *nameState, entity dibs.Entity) *dibs.Error {
	switch {
	case n.State == dibs.Free:
		return t.refuse(dibs.CodeNotFound, "%s is free", t.key())
	case (n.State == dibs.Active || n.State == dibs.Alias) && n.Owner == entity:
		return nil
	default:
		return t.refuse(dibs.CodeNotOwner, "%s is not a name of %s", t.key(), entity)
	}
}

// mayOwn refuses names to an entity that is archived, or whose deletion is not
// complete: names that are left of it must not come back to life.
func (t *target) mayOwn(e entityState) *dibs.Error {
	switch {
	case e.Archived:
		return t.refuse(dibs.CodeEntityArchived, "%s is archived: restore it first", e.Entity)
	case e.Deleted && e.Due != 0:
		return t.refuse(dibs.CodeEntityArchived, "%s is being deleted: try again when the sweeper has given up its names", e.Entity)
	}
	return nil
}

// mayAdd refuses one more active name where the entity may not have it.
func (t *target) mayAdd(e entityState) *dibs.Error {
	have := e.activeIn(t.namespace)
	switch {
	case len(have) > 0 && !t.policy.ManyPerEntity:
		return t.refuse(dibs.CodeEntityHasName, "%s already has a name in %s: rename it, or replace the name", e.Entity, t.namespace)
	case len(e.Active) >= maxActive:
		return t.refuse(dibs.CodeTooLarge, "%s already has %d active names, the maximum of one entity", e.Entity, len(e.Active))
	}
	return nil
}

// present returns the active name that a new one is to replace, or nil where the
// entity has none. The caller says which where it may have many.
func (p *preparer) activeToReplace(v *view, t *target, e entityState, which *target) (*nameState, *dibs.Error) {
	have := e.activeIn(t.namespace)
	if which != nil {
		id := v.idOf(which)
		if !slices.Contains(have, id) {
			return nil, which.refuse(dibs.CodeNotOwner, "%s is not an active name of %s", which.key(), e.Entity)
		}
		return v.nameByID(id, t.scope), t.mayReplace(e, id)
	}
	switch {
	case len(have) == 0:
		return nil, t.mayAdd(e)
	case len(have) > 1 || t.policy.ManyPerEntity:
		return nil, t.refuse(dibs.CodeEntityHasName, "%s may have many names in %s: say which one to replace", e.Entity, t.namespace)
	}
	return v.nameByID(have[0], t.scope), nil
}

// mayReplace refuses a new active name in place of another if the entity has more of
// them than it may: from when its policy allowed many.
func (t *target) mayReplace(e entityState, old dibs.ID) *dibs.Error {
	if t.policy.ManyPerEntity {
		return nil
	}
	for _, id := range e.activeIn(t.namespace) {
		if id != old {
			return t.refuse(dibs.CodeEntityHasName, "%s has several names in %s but may have one: decommission the others first", e.Entity, t.namespace)
		}
	}
	return nil
}

// newLine returns the mark of a line that begins with d. The revision makes it one
// that no other line has, also when the name began a line before.
func newLine(n *nameState) dibs.ID { return recordID(fmt.Sprintf("line\x00%s\x00%d", n.Key(), n.Rev)) }

// succeed makes d the entity's active name, in place of old if there is one, which
// becomes an alias.
func (v *view) makeActive(old, n *nameState, e entityState, t *target, kind dibs.EventKind) {
	line := dibs.ID{}
	if t.policy.ManyPerEntity {
		line = newLine(n)
		if old != nil && !old.Line.IsZero() {
			line = old.Line
		}
	}
	if old != nil {
		delete(e.Active, old.slot())
		old.State, old.Line = dibs.Alias, line
		old.Terms.Many, old.Terms.Quarantine = t.policy.ManyPerEntity, t.policy.Quarantine
		if t.policy.AliasRetention > 0 {
			old.Until = v.now.Add(t.policy.AliasRetention)
		}
	}
	v.activate(n, e, t, line)
	v.saveEntity(e)
	if old != nil {
		v.save(old, dibs.EventDemoted)
	}
	v.save(n, kind)
}

// activate makes d an active name of the entity; nothing is saved yet.
func (v *view) activate(n *nameState, e entityState, t *target, line dibs.ID) {
	n.State, n.Status, n.Owner = dibs.Active, dibs.StatusConfirmed, e.Entity
	n.ConfirmedAt, n.EndedAt, n.Until = v.now, 0, 0
	n.AskAt, n.Doubt = 0, ""
	n.Established = true
	n.Terms.Many, n.Line = t.policy.ManyPerEntity, line
	e.Active[n.slot()] = n.ID
	e.Deleted = false
}

// respell changes how the active name is written, not which name it is.
func (v *view) respell(n *nameState, e entityState, t *target, correlationID string) {
	n.Value = t.value
	setIfAny(&n.CorrelationID, correlationID)
	v.saveEntity(e)
	v.save(n, dibs.EventRespelled)
}

// setIfAny sets a field unless there is nothing to set it to.
func setIfAny(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// leave gives up a name of the entity, as the policy says, and reports its key.
func (v *view) giveUp(n *nameState, e entityState, policy *policy) dibs.Result {
	e.deactivate(n)
	n.giveUp(policy.Quarantine, v.now)
	v.saveEntity(e)
	v.save(n, dibs.EventGivenUp)
	if n.State == dibs.Quarantined {
		return dibs.Result{Quarantined: []string{n.Key()}}
	}
	return dibs.Result{Freed: []string{n.Key()}}
}
