package rules

import (
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
	if r, ok := v.get(ref).(*dibs.EntityRecord); ok {
		e := cloneEntity(r)
		if isForgotten(e) {
			e.Entity, e.Due = entity, 0 // a caller names it again
		}
		return entityState{e}
	}
	return entityState{&dibs.EntityRecord{ID: ref.ID, Scope: scope, Entity: entity, Active: make(map[string]dibs.ID)}}
}

// existingEntity returns an entity that has, or had, a name.
func (v *view) existingEntity(scope string, entity dibs.Entity) (entityState, *dibs.Error) {
	e := v.entity(scope, entity)
	switch {
	case e.Rev == 0:
		return e, notFound(entity, "it never had a name in this scope")
	case e.Deleted:
		return e, notFound(entity, "it was deleted")
	}
	return e, nil
}

// notFound makes the error for an entity that does not exist.
func notFound(entity dibs.Entity, why string) *dibs.Error {
	return &dibs.Error{Code: dibs.CodeEntityNotFound, Message: fmt.Sprintf("there is no entity %s: %s", entity, why)}
}

// saveEntity stores the entity. Its version goes up by one with each command, no matter how many
// of its names the command changes.
func (v *view) saveEntity(e entityState) {
	e.Rev = 0
	if present := v.get(e.Ref()); present != nil {
		e.Rev = present.Revision()
	}
	if _, again := v.find(e.Ref()); !again {
		e.Rev++
	}
	if r, ok := v.get(e.Ref()).(*dibs.EntityRecord); ok && isForgotten(r) {
		v.renew(e.Ref())
	}
	v.put(e.Ref(), cloneEntity(e.EntityRecord))
}

// saveEntityEvent stores a change to the entity as a whole, with an event.
func (v *view) saveEntityEvent(e entityState, kind dibs.EventKind) {
	v.saveEntity(e)
	v.events = append(v.events, dibs.Event{
		Kind: kind, At: v.now, Scope: e.Scope, Entity: e.Entity, Version: v.entity(e.Scope, e.Entity).Rev, Actor: v.actor,
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

// entityRef returns the ref of an entity's record.
func entityRef(scope string, entity dibs.Entity) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindEntity, Scope: scope, ID: dibs.EntityID(scope, entity)}
}

const maxEntityPart = 255

// checkEntity checks an entity that a command needs.
func checkEntity(e dibs.Entity) *dibs.Error {
	for _, part := range []struct{ what, text string }{{"type", e.Type}, {"id", e.ID}} {
		if problem := textProblem(part.text, 1, maxEntityPart); problem != "" {
			return &dibs.Error{Code: dibs.CodeInvalidEntity, Message: fmt.Sprintf("the entity's %s %s", part.what, problem)}
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

// prepareEntity checks a command on an entity as a whole.
func (p *preparer) prepareEntity(scope string, entity dibs.Entity) *dibs.Error {
	if err := checkScope(scope); err != nil {
		return err
	}
	p.want(entityRef(scope, entity))
	return checkEntity(entity)
}
