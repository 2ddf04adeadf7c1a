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
	s, err := p.newName(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, s.about(err)
	}
	if err := s.details(c.CorrelationID, c.Meta); err != nil {
		return nil, err
	}
	p.expectFresh(entityRef(s.scope, c.Entity))
	meta := maps.Clone(c.Meta)
	return func(v *view) (dibs.Result, *dibs.Error) {
		d := v.name(s)
		if d.State == dibs.Active && v.has(c.Entity, d) {
			return v.ownedResult(d, true), nil
		}
		if err := v.available(s, d, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(s.scope, c.Entity)
		if err := s.mayOwn(e); err != nil {
			return dibs.Result{}, err
		}
		if err := s.mayAdd(e); err != nil {
			return dibs.Result{}, err
		}
		if err := v.begin(d, s); err != nil {
			return dibs.Result{}, err
		}
		d.Principal, d.CorrelationID, d.Meta = p.principal.Name, c.CorrelationID, meta
		v.succeed(nil, d, e, s, dibs.EventClaimed)
		return v.ownedResult(d, false), nil
	}, nil
}

func (p *preparer) rename(c dibs.Rename) (decision, *dibs.Error) {
	s, err := p.newName(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, s.about(err)
	}
	if err := s.details(c.CorrelationID, nil); err != nil {
		return nil, err
	}
	p.wantEntity(s.scope, c.Entity)
	var from *target
	if c.From != "" {
		if from, err = p.address(c.Namespace, c.From, c.Field); err != nil {
			return nil, err
		}
	}
	var token dibs.TokenHash
	if c.Token != "" {
		if token, err = hashToken(c.Token); err != nil {
			return nil, s.about(err)
		}
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		d := v.name(s)
		e := v.entity(s.scope, c.Entity)
		// The entity has this name, and none that it was to replace.
		stands := d.State == dibs.Active && v.has(c.Entity, d)
		if stands && from != nil {
			id := v.idOf(from)
			stands = id == d.ID || !slices.Contains(e.activeIn(s.namespace), id)
		}
		// Where values are hidden there is no other way to write it: only the key that
		// hides it may be another.
		if stands && (d.Value == s.value || s.policy.blind()) {
			return v.ownedResult(d, true), nil
		}
		if c.IfVersion != 0 && c.IfVersion != e.Rev {
			return dibs.Result{}, s.refuse(dibs.CodeVersionMismatch, "the entity is at version %d, not %d: look again before you change it", e.Rev, c.IfVersion)
		}
		if err := s.mayOwn(e); err != nil {
			return dibs.Result{}, err
		}
		// Another spelling may be another name, by other rules.
		if _, err := v.namespaceRecord(s); err != nil {
			return dibs.Result{}, err
		}
		if stands {
			v.respell(d, e, s, c.CorrelationID)
			return v.ownedResult(d, false), nil
		}
		old, err := p.present(v, s, e, from)
		if err != nil {
			return dibs.Result{}, err
		}
		kind, err := p.obtain(v, d, s, c, token)
		if err != nil {
			return dibs.Result{}, err
		}
		v.succeed(old, d, e, s, kind)
		return v.ownedResult(d, false), nil
	}, nil
}

// obtain gets the new name of a Rename ready to become active: the entity's own
// alias, a name held with the token, or a free one.
func (p *preparer) obtain(v *view, d *nameState, s *target, c dibs.Rename, token dibs.TokenHash) (dibs.EventKind, *dibs.Error) {
	switch {
	case d.State == dibs.Alias && d.Owner == c.Entity:
		d.Value = s.value
		setIfAny(&d.CorrelationID, c.CorrelationID)
		return dibs.EventRevived, nil
	case d.alive() && d.belongsTo(token, p.principal):
		if err := s.intendedFor(d, c.Entity); err != nil {
			return "", err
		}
		v.uncountHold(d)
		d.Value = s.value
		setIfAny(&d.CorrelationID, c.CorrelationID)
		return dibs.EventConfirmed, nil
	}
	if err := v.available(s, d, c.Entity); err != nil {
		return "", err
	}
	if err := v.begin(d, s); err != nil {
		return "", err
	}
	d.Principal, d.CorrelationID = p.principal.Name, c.CorrelationID
	return dibs.EventClaimed, nil
}

func (p *preparer) decommission(c dibs.Decommission) (decision, *dibs.Error) {
	s, err := p.address(c.Namespace, c.Value, "")
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, s.about(err)
	}
	p.wantEntity(s.scope, c.Entity)
	return func(v *view) (dibs.Result, *dibs.Error) {
		d := v.name(s)
		if (d.State == dibs.Free || d.State == dibs.Quarantined) && d.Owner == c.Entity {
			return v.ownedResult(d, true), nil
		}
		if err := s.ownedBy(d, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(s.scope, c.Entity)
		if e.Deleted {
			return dibs.Result{}, notFound(c.Entity, "it was deleted")
		}
		result := v.leave(d, e, s.policy)
		result.Names, result.Version = []dibs.Name{v.show(d)}, v.entity(s.scope, c.Entity).Rev
		return result, nil
	}, nil
}

// has reports whether the name is the entity's, active or alias, and will stay so:
// the names of an entity whose deletion is under way are about to follow.
func (v *view) has(entity dibs.Entity, d *nameState) bool {
	return (d.State == dibs.Active || d.State == dibs.Alias) && d.Owner == entity && !v.entity(d.Scope, entity).Deleted
}

// ownedBy refuses unless the name is the entity's, active or alias.
func (s *target) ownedBy(d *nameState, entity dibs.Entity) *dibs.Error {
	switch {
	case d.State == dibs.Free:
		return s.refuse(dibs.CodeNotFound, "nobody has %s", s.key())
	case (d.State == dibs.Active || d.State == dibs.Alias) && d.Owner == entity:
		return nil
	default:
		return s.refuse(dibs.CodeNotOwner, "%s is not a name of %s", s.key(), entity)
	}
}

// mayOwn refuses names to an entity that is archived, or whose deletion is not
// complete: names that are left of it must not come back to life.
func (s *target) mayOwn(e entityState) *dibs.Error {
	switch {
	case e.Archived:
		return s.refuse(dibs.CodeEntityArchived, "%s is archived: restore it first", e.Entity)
	case e.Deleted && e.Due != 0:
		return s.refuse(dibs.CodeEntityArchived, "%s is being deleted: its names follow in batches, try again when a sweep has finished", e.Entity)
	}
	return nil
}

// mayAdd refuses one more active name where the entity may not have it.
func (s *target) mayAdd(e entityState) *dibs.Error {
	have := e.activeIn(s.namespace)
	switch {
	case len(have) > 0 && !s.policy.ManyPerEntity:
		return s.refuse(dibs.CodeEntityHasName, "%s has a name in %s already: rename it, or replace the name", e.Entity, s.namespace)
	case len(e.Active) >= maxActive:
		return s.refuse(dibs.CodeTooLarge, "%s has %d active names already, the most one entity can have", e.Entity, len(e.Active))
	}
	return nil
}

// present returns the active name that a new one is to replace, or nil where the
// entity has none. The caller says which where it may have many.
func (p *preparer) present(v *view, s *target, e entityState, which *target) (*nameState, *dibs.Error) {
	have := e.activeIn(s.namespace)
	if which != nil {
		id := v.idOf(which)
		if !slices.Contains(have, id) {
			return nil, which.refuse(dibs.CodeNotOwner, "%s is not an active name of %s", which.key(), e.Entity)
		}
		return v.nameByID(id, s.scope), s.mayReplace(e, id)
	}
	switch {
	case len(have) == 0:
		return nil, s.mayAdd(e)
	case len(have) > 1 || s.policy.ManyPerEntity:
		return nil, s.refuse(dibs.CodeEntityHasName, "%s may have many names in %s: say which one is replaced", e.Entity, s.namespace)
	}
	return v.nameByID(have[0], s.scope), nil
}

// mayReplace refuses a new active name in place of another if the entity has more of
// them than it may: from when its policy allowed many.
func (s *target) mayReplace(e entityState, old dibs.ID) *dibs.Error {
	if s.policy.ManyPerEntity {
		return nil
	}
	for _, id := range e.activeIn(s.namespace) {
		if id != old {
			return s.refuse(dibs.CodeEntityHasName, "%s has several names in %s, and may have one: decommission the others first", e.Entity, s.namespace)
		}
	}
	return nil
}

// newLine returns the mark of a line that begins with d. The revision makes it one
// that no other line has, also when the name began a line before.
func newLine(d *nameState) dibs.ID { return recordID(fmt.Sprintf("line\x00%s\x00%d", d.Key(), d.Rev)) }

// succeed makes d the entity's active name, in place of old if there is one, which
// becomes an alias.
func (v *view) succeed(old, d *nameState, e entityState, s *target, kind dibs.EventKind) {
	line := dibs.ID{}
	if s.policy.ManyPerEntity {
		line = newLine(d)
		if old != nil && !old.Line.IsZero() {
			line = old.Line
		}
	}
	if old != nil {
		delete(e.Active, old.slot())
		old.State, old.Line = dibs.Alias, line
		old.Terms.Many, old.Terms.Quarantine = s.policy.ManyPerEntity, s.policy.Quarantine
		if s.policy.AliasRetention > 0 {
			old.Until = v.now.Add(s.policy.AliasRetention)
		}
	}
	v.activate(d, e, s, line)
	v.saveEntity(e)
	if old != nil {
		v.save(old, dibs.EventDemoted)
	}
	v.save(d, kind)
}

// activate makes d an active name of the entity; nothing is saved yet.
func (v *view) activate(d *nameState, e entityState, s *target, line dibs.ID) {
	d.State, d.Status, d.Owner = dibs.Active, dibs.StatusConfirmed, e.Entity
	d.ConfirmedAt, d.EndedAt, d.Until = v.now, 0, 0
	d.AskAt, d.Doubt = 0, ""
	d.Established = true
	d.Terms.Many, d.Line = s.policy.ManyPerEntity, line
	e.Active[d.slot()] = d.ID
	e.Deleted = false
}

// respell changes how the active name is written, not which name it is.
func (v *view) respell(d *nameState, e entityState, s *target, correlationID string) {
	d.Value = s.value
	setIfAny(&d.CorrelationID, correlationID)
	v.saveEntity(e)
	v.save(d, dibs.EventRespelled)
}

// setIfAny sets a field unless there is nothing to set it to.
func setIfAny(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// leave gives up a name of the entity, as the policy says, and reports its key.
func (v *view) leave(d *nameState, e entityState, policy *policy) dibs.Result {
	if e.Active[d.slot()] == d.ID {
		delete(e.Active, d.slot())
	}
	d.giveUp(policy.Quarantine, v.now)
	v.saveEntity(e)
	v.save(d, dibs.EventGivenUp)
	if d.State == dibs.Quarantined {
		return dibs.Result{Quarantined: []string{d.Key()}}
	}
	return dibs.Result{Freed: []string{d.Key()}}
}
