package linear

import "github.com/calldibs/dibs"

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
