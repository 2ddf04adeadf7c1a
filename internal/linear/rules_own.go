package linear

import (
	"github.com/calldibs/dibs"
)

// has reports whether an entity has a name, as its active name or an alias.
func (w *world) has(e, i int) bool {
	n := &w.names[i]
	return (n.state == dibs.Active || n.state == dibs.Alias) && n.owner == e
}

// owned is the answer of a command that gives a name to an entity.
func (w *world) owned(i int, replayed bool) Answer {
	return Answer{Replayed: replayed, Names: []Seen{w.show(i)}}
}

// activate makes a name an entity's active one.
func (w *world) activate(i, e int) {
	n := &w.names[i]
	n.state, n.status, n.owner, n.confirmed, n.kept = dibs.Active, dibs.StatusConfirmed, e, true, false
	n.ends = span{}
	w.entities[e].active, w.entities[e].deleted = i, false
	w.change(e)
}

// succeed makes a name the active one instead of the entity's current name, if it has one.
func (w *world) succeed(i, e int) {
	if old := w.entities[e].active; old != 0 {
		w.names[old].state = dibs.Alias
	}
	w.activate(i, e)
}

// giveUp ends an entity's ownership of a name.
func (w *world) giveUp(i int) {
	n := &w.names[i]
	if e := &w.entities[n.owner]; e.active == i {
		e.active = 0
	}
	n.state, n.status = dibs.Free, dibs.StatusReleased
	if w.quarantine {
		n.state = dibs.Quarantined
	}
}

func (w *world) claim(o Op) Answer {
	n, e := &w.names[o.Name], &w.entities[o.Entity]
	if n.state == dibs.Active && w.has(o.Entity, o.Name) {
		return w.owned(o.Name, true)
	}
	if reason := n.taken(o.Entity); reason != "" {
		return nameTaken(reason)
	}
	switch {
	case e.archived:
		return refused(dibs.CodeEntityArchived)
	case e.active != 0:
		return refused(dibs.CodeEntityHasName)
	}
	n.begin()
	w.activate(o.Name, o.Entity)
	return w.owned(o.Name, false)
}

func (w *world) rename(o Op) Answer {
	n := &w.names[o.Name]
	if n.state == dibs.Active && w.has(o.Entity, o.Name) {
		return w.owned(o.Name, true)
	}
	if w.entities[o.Entity].archived {
		return refused(dibs.CodeEntityArchived)
	}
	switch {
	case n.state == dibs.Alias && n.owner == o.Entity: // the alias becomes active again
	case n.state == dibs.Held && o.Token != 0 && n.token == o.Token:
		if n.intended != 0 && n.intended != o.Entity {
			return refused(dibs.CodeNotOwner)
		}
	default:
		if reason := n.taken(o.Entity); reason != "" {
			return nameTaken(reason)
		}
		n.begin()
	}
	w.succeed(o.Name, o.Entity)
	return w.owned(o.Name, false)
}

// ownedBy returns why a name is not an entity's.
func (w *world) ownedBy(e, i int) dibs.Code {
	switch {
	case w.names[i].state == dibs.Free:
		return dibs.CodeNotFound
	case !w.has(e, i):
		return dibs.CodeNotOwner
	}
	return ""
}

func (w *world) decommission(o Op) Answer {
	n := &w.names[o.Name]
	if (n.state == dibs.Free || n.state == dibs.Quarantined) && n.owner == o.Entity {
		return w.owned(o.Name, true)
	}
	if code := w.ownedBy(o.Entity, o.Name); code != "" {
		return refused(code)
	}
	w.giveUp(o.Name)
	w.change(o.Entity)
	return w.owned(o.Name, false)
}

func (w *world) transfer(o Op) Answer {
	from, to := &w.entities[o.Entity], &w.entities[o.To]
	if w.has(o.To, o.Name) {
		return w.owned(o.Name, true)
	}
	if code := w.ownedBy(o.Entity, o.Name); code != "" {
		return refused(code)
	}
	switch {
	case from.archived || to.archived:
		return refused(dibs.CodeEntityArchived)
	case to.active != 0:
		return refused(dibs.CodeEntityHasName)
	}
	if from.active == o.Name {
		from.active = 0
	}
	w.change(o.Entity)
	w.names[o.Name].epoch++
	w.activate(o.Name, o.To)
	return w.owned(o.Name, false)
}

func (w *world) swap(o Op) Answer {
	isActive := func(i, e int) bool { return w.names[i].state == dibs.Active && w.names[i].owner == e }
	if isActive(o.Name, o.To) && isActive(o.Other, o.Entity) {
		return Answer{Replayed: true, Names: []Seen{w.show(o.Name), w.show(o.Other)}}
	}
	switch {
	case !isActive(o.Name, o.Entity) || !isActive(o.Other, o.To):
		return refused(dibs.CodeNotOwner)
	case w.entities[o.Entity].archived || w.entities[o.To].archived:
		return refused(dibs.CodeEntityArchived)
	}
	w.names[o.Name].epoch++
	w.names[o.Other].epoch++
	w.activate(o.Name, o.To)
	w.activate(o.Other, o.Entity)
	return Answer{Names: []Seen{w.show(o.Name), w.show(o.Other)}}
}

func (w *world) archive(o Op) Answer {
	e := &w.entities[o.Entity]
	if !e.known || e.deleted {
		return refused(dibs.CodeEntityNotFound)
	}
	if archived := o.Verb == Archive; e.archived != archived {
		e.archived = archived
		w.change(o.Entity)
		return Answer{}
	}
	return Answer{Replayed: true}
}

func (w *world) delete(o Op) Answer {
	e := &w.entities[o.Entity]
	switch {
	case e.deleted:
		return Answer{Replayed: true}
	case !e.known:
		return refused(dibs.CodeEntityNotFound)
	}
	for i := range w.names {
		if w.has(o.Entity, i) {
			w.giveUp(i)
		}
	}
	e.deleted, e.archived = true, false
	w.change(o.Entity)
	return Answer{}
}

// resolve follows a name to its entity, and an alias on to the entity's active name.
func (w *world) resolve(o Op) Answer {
	n := &w.names[o.Name]
	e := &w.entities[n.owner]
	owned := n.state == dibs.Active || n.state == dibs.Alias
	switch {
	case n.state == dibs.Quarantined:
		return Answer{Outcome: dibs.ResolveGone}
	case !owned || e.archived:
		return Answer{Outcome: dibs.ResolveNotFound}
	case n.state == dibs.Active:
		return Answer{Outcome: dibs.ResolveActive, Entity: n.owner}
	case e.active == 0:
		return Answer{Outcome: dibs.ResolveGone}
	}
	return Answer{Outcome: dibs.ResolveMoved, Entity: n.owner, Names: []Seen{w.show(e.active)}}
}

func (w *world) get(o Op) Answer {
	if w.names[o.Name].epoch == 0 {
		return refused(dibs.CodeNotFound)
	}
	return Answer{Names: []Seen{w.show(o.Name)}}
}

func (w *world) check(o Op) Answer {
	reason := w.names[o.Name].taken(o.Entity)
	return Answer{Available: reason == "", Reason: reason}
}

func (w *world) namesOf(o Op) Answer {
	e := &w.entities[o.Entity]
	if !e.known || e.deleted {
		return refused(dibs.CodeEntityNotFound)
	}
	a := Answer{Archived: e.archived}
	for i := range w.names {
		if i != 0 && w.has(o.Entity, i) {
			a.Names = append(a.Names, w.show(i))
		}
	}
	return a
}
