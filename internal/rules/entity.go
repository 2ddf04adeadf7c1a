package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// prepareEntity checks a command on an entity as a whole.
func (p *preparer) prepareEntity(scope string, entity dibs.Entity) *dibs.Error {
	if err := checkScope(scope); err != nil {
		return err
	}
	p.wantEntity(scope, entity)
	return checkEntity(entity)
}

func notFound(entity dibs.Entity, why string) *dibs.Error {
	return &dibs.Error{Code: dibs.CodeEntityNotFound, Message: fmt.Sprintf("there is no entity %s: %s", entity, why)}
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

// saveWhole stores a change to the entity as a whole and tells the world.
func (v *view) saveEntityEvent(e entityState, kind dibs.EventKind) {
	v.saveEntity(e)
	v.events = append(v.events, dibs.Event{
		Kind: kind, At: v.now, Scope: e.Scope, Entity: e.Entity, Version: v.entity(e.Scope, e.Entity).Rev, Actor: v.actor,
	})
}

func (p *preparer) archive(c dibs.Archive) (decision, *dibs.Error) {
	return p.setArchived(c.Scope, c.Entity, true, dibs.EventArchived)
}

func (p *preparer) restore(c dibs.Restore) (decision, *dibs.Error) {
	return p.setArchived(c.Scope, c.Entity, false, dibs.EventRestored)
}

func (p *preparer) setArchived(scope string, entity dibs.Entity, archived bool, kind dibs.EventKind) (decision, *dibs.Error) {
	if err := p.prepareEntity(scope, entity); err != nil {
		return nil, err
	}
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
		return dibs.Result{Version: v.entity(scope, entity).Rev}, nil
	}, nil
}

func (p *preparer) delete(c dibs.Delete) (decision, *dibs.Error) {
	if err := p.prepareEntity(c.Scope, c.Entity); err != nil {
		return nil, err
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		e := v.entity(c.Scope, c.Entity)
		if e.Deleted {
			return dibs.Result{Version: e.Rev, Replayed: true, Pending: e.Due != 0}, nil
		}
		if e.Rev == 0 {
			return dibs.Result{}, notFound(c.Entity, "it never had a name in this scope")
		}
		e.Deleted, e.Archived = true, false
		ids, more := v.namesOf(c.Scope, c.Entity)
		if more {
			// Too many for one command: mark the entity, so that nothing of it
			// resolves from now on, and let the sweeper do the rest.
			e.Due = v.now
			v.saveEntityEvent(e, dibs.EventDeleted)
			return dibs.Result{Version: v.entity(c.Scope, c.Entity).Rev, Pending: true}, nil
		}
		result := p.giveUpAll(v, e, ids)
		v.saveEntityEvent(e, dibs.EventDeleted)
		result.Version = v.entity(c.Scope, c.Entity).Rev
		return result, nil
	}, nil
}

// leaveAll gives up these names of an entity, each as its own policy says.
func (p *preparer) giveUpAll(v *view, e entityState, ids []dibs.ID) dibs.Result {
	var result dibs.Result
	for _, id := range ids {
		n := v.nameByID(id, e.Scope)
		if n == nil || (n.State != dibs.Active && n.State != dibs.Alias) || n.Owner != e.Entity {
			if n != nil {
				v.saveLapses(n) // an alias whose time was over
			}
			continue
		}
		ns, err := p.policies.namespace(n.Namespace)
		if err != nil {
			continue // no name has a malformed namespace
		}
		left := v.giveUp(n, e, ns.policy)
		result.Freed = append(result.Freed, left.Freed...)
		result.Quarantined = append(result.Quarantined, left.Quarantined...)
	}
	return result
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

// entityDraft is an entity that a command is deciding about.
type entityState struct {
	*dibs.EntityRecord
}

// entity returns the draft of an entity; one without a record has revision 0.
func (v *view) entity(scope string, entity dibs.Entity) entityState {
	ref := entityRef(scope, entity)
	if r, ok := v.get(ref).(*dibs.EntityRecord); ok {
		e := cloneEntity(r)
		if isForgotten(e) {
			e.Entity, e.Due = entity, 0 // somebody knows it again
		}
		return entityState{e}
	}
	return entityState{&dibs.EntityRecord{ID: ref.ID, Scope: scope, Entity: entity, Active: make(map[string]dibs.ID)}}
}

// saveEntity stores the entity. Its version goes up by one with each command, no
// matter how many of its names the command changes.
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

// deactivate removes a name from the entity's active names, if it is one of them.
func (e entityState) deactivate(n *nameState) {
	if e.Active[n.slot()] == n.ID {
		delete(e.Active, n.slot())
	}
}

// activeIn returns the entity's active names in a namespace, in a steady order.
func (e entityState) activeIn(namespace string) []dibs.ID {
	var ids []dibs.ID
	for _, slot := range slices.Sorted(maps.Keys(e.Active)) {
		if slot == namespace || strings.HasPrefix(slot, namespace+"/") {
			ids = append(ids, e.Active[slot])
		}
	}
	return ids
}
