package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// entityState is an entity that a decision is about.
type entityState struct {
	*dibs.EntityRecord
}

// entity returns the state of an entity; without a record it has revision 0.
func (v *view) entity(scope string, entity dibs.Entity) entityState {
	ref := entityRef(scope, entity)
	r, ok := v.get(ref).(*dibs.EntityRecord)
	if !ok {
		r = &dibs.EntityRecord{ID: ref.ID, Scope: scope}
	}
	e := cloneEntity(r)
	if isForgotten(e) {
		e.Entity, e.Due = entity, 0 // a caller names it, or names it again
	}
	return entityState{e}
}

// owner returns the entity of an active name or alias, to read: the state shares the record. An entity with names has one.
// If the engine has lost it, the decision fails: the entity may be archived, or deleted.
func (v *view) owner(n *nameState) entityState {
	r, ok := v.get(entityRef(n.Scope, n.Owner)).(*dibs.EntityRecord)
	if !ok {
		r = new(dibs.EntityRecord)
		v.fault = dibs.Unavailable(fmt.Errorf("%s belongs to %s, which has no record", n.Key(), n.Owner)).Because(dibs.CauseDamaged)
	}
	return entityState{r}
}

// existingEntity returns an entity that has, or had, a name.
func (v *view) existingEntity(scope string, entity dibs.Entity) (entityState, *dibs.Error) {
	e := v.entity(scope, entity)
	if e.Rev == 0 {
		return e, notFound(entity, "it never had a name in this scope")
	}
	return e, e.mayGive()
}

func notFound(entity dibs.Entity, why string) *dibs.Error {
	return refuse(dibs.CodeEntityNotFound, "there is no entity %s: %s", entity, why)
}

// saveEntity stores the entity. Its version goes up by one with each command, no matter how many
// of its names the command changes.
func (v *view) saveEntity(e entityState) {
	if present, ok := v.get(e.Ref()).(*dibs.EntityRecord); ok {
		e.Rev = present.Rev
		if isForgotten(present) {
			v.renew(e.Ref())
		}
	}
	if _, again := v.find(e.Ref()); !again {
		e.Rev++
	}
	v.put(e.Ref(), cloneEntity(e.EntityRecord))
}

func (v *view) saveEntityEvent(e entityState, kind dibs.EventKind) {
	v.saveEntity(e)
	v.events = append(v.events, dibs.Event{
		Kind: kind, At: v.now, Scope: e.Scope, Entity: e.Entity, Version: e.Rev, Actor: v.actor,
	})
}

// activeIn returns the entity's active names in a namespace, always in the same order.
func (e entityState) activeIn(namespace string) []dibs.ID {
	var ids []dibs.ID
	for _, slot := range slices.Sorted(maps.Keys(e.Active)) {
		if slot == namespace || strings.HasPrefix(slot, namespace+"/") {
			ids = append(ids, e.Active[slot])
		}
	}
	return ids
}

// deactivate removes a name from the entity's active names, if it is one of them.
func (e entityState) deactivate(n *nameState) {
	if e.Active[n.slot()] == n.ID {
		delete(e.Active, n.slot())
	}
}

// cloneEntity returns a copy whose map can be changed.
func cloneEntity(e *dibs.EntityRecord) *dibs.EntityRecord {
	c := *e
	c.Active = maps.Clone(e.Active)
	if c.Active == nil {
		c.Active = make(map[string]dibs.ID)
	}
	return &c
}

func entityRef(scope string, entity dibs.Entity) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindEntity, Scope: scope, ID: dibs.EntityID(scope, entity)}
}

const maxEntityPart = 255

func checkEntity(e dibs.Entity) *dibs.Error {
	for _, part := range []struct{ what, text string }{{"type", e.Type}, {"id", e.ID}} {
		if problem := textProblem(part.text, 1, maxEntityPart); problem != "" {
			return refuse(dibs.CodeInvalidEntity, "the entity's %s %s", part.what, problem)
		}
	}
	return nil
}

// checkOptionalEntity is checkEntity for an entity that may be left out.
func checkOptionalEntity(e dibs.Entity) *dibs.Error {
	if e.IsZero() {
		return nil
	}
	return checkEntity(e)
}

func (p *preparer) prepareEntity(scope string, entity dibs.Entity) {
	p.check(cmp.Or(checkScope(scope), checkEntity(entity)))
	p.want(entityRef(scope, entity))
}

// namesOf returns an entity's names, and whether there are more than a command may touch. The
// caller must have read the entity's record: its revision changes when a name is added or removed
// meanwhile.
func (v *view) namesOf(scope string, entity dibs.Entity) (ids []dibs.ID, more bool) {
	for _, n := range v.batch.namesOf(Owner{scope, entity}) {
		ids = append(ids, n.ID)
	}
	// Earlier commands may have given the entity names that the engine does not list yet. A name
	// that they took from it has another owner when it is read.
	listed := len(ids)
	add := func(r dibs.Record) {
		if n, ok := r.(*dibs.NameRecord); ok && n.Scope == scope && n.Owner == entity && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	for level := v; level != nil; level = level.parent {
		for _, c := range level.changes {
			add(c.record)
		}
	}
	for i := range v.batch.entries {
		add(v.batch.entries[i].current)
	}
	slices.SortFunc(ids[listed:], func(a, b dibs.ID) int { return bytes.Compare(a[:], b[:]) }) // always the same order
	return ids, len(ids) > maxNames
}

func (p *preparer) setArchived(scope string, entity dibs.Entity, archived bool, kind dibs.EventKind) decision {
	p.prepareEntity(scope, entity)
	return func(v *view) (dibs.Result, *dibs.Error) {
		e, err := v.existingEntity(scope, entity)
		if err != nil {
			return dibs.Result{}, err
		}
		if e.Archived == archived {
			return dibs.Result{Version: e.Rev, Replayed: true}, nil
		}
		e.Archived = archived
		v.saveEntityEvent(e, kind)
		return dibs.Result{Version: e.Rev}, nil
	}
}

func (p *preparer) delete(c dibs.Delete) decision {
	p.prepareEntity(c.Scope, c.Entity)
	return func(v *view) (dibs.Result, *dibs.Error) {
		e := v.entity(c.Scope, c.Entity)
		if e.Deleted {
			return dibs.Result{Version: e.Rev, Replayed: true, Pending: e.Due != 0}, nil
		}
		if e.Rev == 0 {
			return dibs.Result{}, notFound(c.Entity, "it never had a name in this scope")
		}
		e.Deleted, e.Archived = true, false
		var result dibs.Result
		if ids, more := v.namesOf(c.Scope, c.Entity); more {
			// Too many for one command: mark the entity, so that its names no longer resolve, and let
			// the sweeper do the rest.
			e.Due, result.Pending = v.now, true
		} else {
			result = p.giveUpAll(v, e, ids)
		}
		v.saveEntityEvent(e, dibs.EventDeleted)
		result.Version = e.Rev
		return result, nil
	}
}

func (p *preparer) decommission(c dibs.Decommission) decision {
	t := p.target(c.Namespace, c.Value, "")
	p.check(t.about(checkEntity(c.Entity)))
	p.want(entityRef(t.scope, c.Entity))
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if (n.State == dibs.Free || n.State == dibs.Quarantined) && n.Owner == c.Entity {
			return v.ownedResult(n, true), nil
		}
		e := v.entity(t.scope, c.Entity)
		if err := cmp.Or(t.checkOwnedBy(n, c.Entity), e.mayGive()); err != nil {
			return dibs.Result{}, err
		}
		result := dibs.Result{Names: make([]dibs.Name, 1)}
		v.giveUp(n, e, t.policy, &result)
		result.Names[0], result.Version = n.show(v.now), e.Rev
		return result, nil
	}
}

// giveUp ends the entity's ownership of a name, as the policy says, and adds the name's key to the
// result.
func (v *view) giveUp(n *nameState, e entityState, policy *policy, result *dibs.Result) {
	e.deactivate(n)
	n.giveUp(policy.Quarantine, v.now)
	v.saveEntity(e)
	v.save(n, dibs.EventGivenUp)
	if n.State == dibs.Quarantined {
		result.Quarantined = append(result.Quarantined, n.Key())
	} else {
		result.Freed = append(result.Freed, n.Key())
	}
}

// giveUpAll gives up these names of an entity, each as its own policy says.
func (p *preparer) giveUpAll(v *view, e entityState, ids []dibs.ID) (result dibs.Result) {
	for _, id := range ids {
		n := v.nameByID(id, e.Scope)
		switch {
		case n == nil:
		case n.ownedBy(e.Entity):
			v.giveUp(n, e, p.policyOf(n), &result)
		default:
			v.saveLapses(n) // an alias that has ended by itself
		}
	}
	return result
}
