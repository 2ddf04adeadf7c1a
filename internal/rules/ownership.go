package rules

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// maxActive is how many active names one entity may have, where it may have many. Its record lists
// all of them.
const maxActive = 1000

// ownedBy reports whether the name is the entity's, active or alias.
func (n *nameState) ownedBy(entity dibs.Entity) bool {
	return (n.State == dibs.Active || n.State == dibs.Alias) && n.Owner == entity
}

// owns reports whether the name is the entity's, active or alias, and stays so: the names of an
// entity that is being deleted are about to be given up.
func (v *view) owns(entity dibs.Entity, n *nameState) bool {
	return n.ownedBy(entity) && !v.owner(n).Deleted
}

// checkOwnedBy refuses unless the name is the entity's, active or alias.
func (t *target) checkOwnedBy(n *nameState, entity dibs.Entity) *dibs.Error {
	switch {
	case n.State == dibs.Free:
		return t.refuse(dibs.CodeNotFound, "%s is free", t.key())
	case n.ownedBy(entity):
		return nil
	default:
		return t.refuse(dibs.CodeNotOwner, "%s is not a name of %s", t.key(), entity)
	}
}

// mayOwn refuses names to an entity that is archived, or whose deletion is not complete: its
// remaining names must not become active again.
func (t *target) mayOwn(e entityState) *dibs.Error {
	switch {
	case e.Archived:
		return t.refuse(dibs.CodeEntityArchived, "%s is archived: restore it first", e.Entity)
	case e.Deleted && e.Due != 0:
		return t.refuse(dibs.CodeEntityArchived, "%s is being deleted: try again when the sweeper has given up its names", e.Entity)
	}
	return nil
}

// mayGive refuses if the entity was deleted, and has no name to give away.
func (e entityState) mayGive() *dibs.Error {
	if e.Deleted {
		return notFound(e.Entity, "it was deleted")
	}
	return nil
}

// mayAdd refuses one more active name if the entity may not have it.
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

// activeToReplace returns the active name that a new one replaces, or nil if the entity has none.
// If it may have many, the caller says which.
func (v *view) activeToReplace(t *target, e entityState, which *target) (*nameState, *dibs.Error) {
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

// mayReplace refuses a new active name in place of another if the entity has more than it may,
// because its policy allowed many before.
func (t *target) mayReplace(e entityState, old dibs.ID) *dibs.Error {
	other := func(id dibs.ID) bool { return id != old }
	if t.policy.ManyPerEntity || !slices.ContainsFunc(e.activeIn(t.namespace), other) {
		return nil
	}
	return t.refuse(dibs.CodeEntityHasName, "%s has several names in %s but may have one: decommission the others first", e.Entity, t.namespace)
}

// makeActive makes n the entity's active name. The old one, if there is one, becomes an alias.
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
		v.makeAlias(old, t, line)
	}
	v.activate(n, e, t, line)
	v.saveEntity(e)
	if old != nil {
		v.save(old, dibs.EventDemoted)
	}
	v.save(n, kind)
}

// makeAlias makes n an alias of the active name with this line, without saving it.
func (v *view) makeAlias(n *nameState, t *target, line dibs.ID) {
	n.State, n.Line, n.Until = dibs.Alias, line, 0
	n.Terms.Many, n.Terms.Quarantine = t.policy.ManyPerEntity, t.policy.Quarantine
	if t.policy.AliasRetention > 0 {
		n.Until = v.now.Add(t.policy.AliasRetention)
	}
}

// activate makes n an active name of the entity, without saving either.
func (v *view) activate(n *nameState, e entityState, t *target, line dibs.ID) {
	n.State, n.Status, n.Owner = dibs.Active, dibs.StatusConfirmed, e.Entity
	n.ConfirmedAt, n.EndedAt, n.Until = v.now, 0, 0
	n.AskAt, n.Doubt = 0, ""
	n.Established = true
	n.Terms.Many, n.Line = t.policy.ManyPerEntity, line
	e.Active[n.slot()] = n.ID
	e.Deleted = false
}

// newLine returns the ID of a line that begins with n. The revision makes it unique, also if the
// name began a line before.
func newLine(n *nameState) dibs.ID { return recordID(fmt.Sprintf("line\x00%s\x00%d", n.Key(), n.Rev)) }

// ownedResult is the result of a command that gave a name to an entity.
func (v *view) ownedResult(n *nameState, replayed bool) dibs.Result {
	name := n.show(v.now)
	name.Version = v.owner(n).Rev
	return dibs.Result{Names: []dibs.Name{name}, Replayed: replayed, Version: name.Version}
}
