package dibs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// prepareEntity checks a command on an entity as a whole.
func (p *preparer) prepareEntity(scope string, entity Entity) *Error {
	if err := checkScope(scope); err != nil {
		return err
	}
	p.wantEntity(scope, entity)
	return checkEntity(entity)
}

func notFound(entity Entity, why string) *Error {
	return &Error{Code: CodeEntityNotFound, Message: fmt.Sprintf("there is no entity %s: %s", entity, why)}
}

// existingEntity returns an entity that has, or had, a name.
func (v *view) existingEntity(scope string, entity Entity) (entityDraft, *Error) {
	e := v.entity(scope, entity)
	switch {
	case e.Rev == 0:
		return e, notFound(entity, "it never had a name in this scope")
	case e.Deleted:
		return e, notFound(entity, "it was deleted")
	}
	return e, nil
}

// saveWhole stores a change to the entity as a whole and tells the world.
func (v *view) saveWhole(e entityDraft, kind EventKind) {
	v.saveEntity(e)
	v.events = append(v.events, Event{
		Kind: kind, At: v.now, Scope: e.Scope, Entity: e.Entity, Version: v.entity(e.Scope, e.Entity).Rev, Actor: v.actor,
	})
}

func (p *preparer) archive(c Archive) (decision, *Error) {
	return p.prepareArchived(c.Scope, c.Entity, true, EventArchived)
}

func (p *preparer) restore(c Restore) (decision, *Error) {
	return p.prepareArchived(c.Scope, c.Entity, false, EventRestored)
}

func (p *preparer) prepareArchived(scope string, entity Entity, archived bool, kind EventKind) (decision, *Error) {
	if err := p.prepareEntity(scope, entity); err != nil {
		return nil, err
	}
	return func(v *view) (Result, *Error) {
		e, err := v.existingEntity(scope, entity)
		if err != nil {
			return Result{}, err
		}
		if e.Archived == archived {
			return Result{Version: e.Rev, Replayed: true}, nil
		}
		e.Archived = archived
		v.saveWhole(e, kind)
		return Result{Version: v.entity(scope, entity).Rev}, nil
	}, nil
}

func (p *preparer) delete(c Delete) (decision, *Error) {
	if err := p.prepareEntity(c.Scope, c.Entity); err != nil {
		return nil, err
	}
	return func(v *view) (Result, *Error) {
		e := v.entity(c.Scope, c.Entity)
		if e.Deleted {
			return Result{Version: e.Rev, Replayed: true, Pending: e.Due != 0}, nil
		}
		if e.Rev == 0 {
			return Result{}, notFound(c.Entity, "it never had a name in this scope")
		}
		e.Deleted, e.Archived = true, false
		ids, more := v.namesOf(c.Scope, c.Entity)
		if more {
			// Too many for one command: mark the entity, so that nothing of it
			// resolves from now on, and let the sweeper do the rest.
			e.Due = v.now
			v.saveWhole(e, EventDeleted)
			return Result{Version: v.entity(c.Scope, c.Entity).Rev, Pending: true}, nil
		}
		result := p.leaveAll(v, e, ids)
		v.saveWhole(e, EventDeleted)
		result.Version = v.entity(c.Scope, c.Entity).Rev
		return result, nil
	}, nil
}

// leaveAll gives up these names of an entity, each as its own policy says.
func (p *preparer) leaveAll(v *view, e entityDraft, ids []ID) Result {
	var result Result
	for _, id := range ids {
		d := v.nameByID(id, e.Scope)
		if d == nil || (d.State != Active && d.State != Alias) || d.Owner != e.Entity {
			if d != nil {
				v.saveLapses(d) // an alias whose time was over
			}
			continue
		}
		space, err := p.policies.space(d.Namespace)
		if err != nil {
			continue // no name has a malformed namespace
		}
		left := v.leave(d, e, space.policy)
		result.Freed = append(result.Freed, left.Freed...)
		result.Quarantined = append(result.Quarantined, left.Quarantined...)
	}
	return result
}

// cloneEntity returns a copy whose map can be changed.
func cloneEntity(e *EntityRecord) *EntityRecord {
	c := *e
	c.Active = maps.Clone(e.Active)
	if c.Active == nil {
		c.Active = make(map[string]ID)
	}
	return &c
}

// entityDraft is an entity that a command is deciding about.
type entityDraft struct {
	*EntityRecord
}

// entity returns the draft of an entity; one without a record has revision 0.
func (v *view) entity(scope string, entity Entity) entityDraft {
	id := EntityID(scope, entity)
	if r, ok := v.get(Ref{KindEntity, scope, id}).(*EntityRecord); ok {
		e := cloneEntity(r)
		if isForgotten(e) {
			e.Entity, e.Due = entity, 0 // somebody knows it again
		}
		return entityDraft{e}
	}
	return entityDraft{&EntityRecord{ID: id, Scope: scope, Entity: entity, Active: make(map[string]ID)}}
}

// saveEntity stores the entity. Its version goes up by one with each command, no
// matter how many of its names the command changes.
func (v *view) saveEntity(e entityDraft) {
	e.Rev = 0
	if present := v.get(e.Ref()); present != nil {
		e.Rev = present.Revision()
	}
	if _, again := v.find(e.Ref()); !again {
		e.Rev++
	}
	if r, ok := v.get(e.Ref()).(*EntityRecord); ok && isForgotten(r) {
		v.renew(e.Ref())
	}
	v.put(e.Ref(), cloneEntity(e.EntityRecord))
}

// activeIn returns the entity's active names in a namespace, in a steady order.
func (e entityDraft) activeIn(namespace string) []ID {
	var ids []ID
	for _, slot := range slices.Sorted(maps.Keys(e.Active)) {
		if slot == namespace || strings.HasPrefix(slot, namespace+"/") {
			ids = append(ids, e.Active[slot])
		}
	}
	return ids
}
