package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Get returns the state of a name at a time.
func (m *Model) Get(now int64, key Key) (Name, bool) {
	m.advance(now)
	name, ok := m.names[key]
	return name, ok
}

// Shown is the entity that readers of a name see.
func (n Name) Shown() dibs.Entity { return n.shown() }

// Entity returns the state of an entity at a time, and the keys of its names.
func (m *Model) Entity(now int64, owner Owner) (Entity, []Key, bool) {
	m.advance(now)
	e, ok := m.entities[owner]
	return e, m.owned(owner), ok
}

// Resolve returns where a name leads at a time, and to which name if it has moved.
func (m *Model) Resolve(now int64, key Key) (dibs.ResolveOutcome, Key) {
	m.advance(now)
	name := m.names[key]
	switch name.State {
	case dibs.Quarantined:
		return dibs.ResolveGone, Key{}
	case dibs.Active, dibs.Alias:
	default:
		return dibs.ResolveNotFound, Key{}
	}
	successor, ok := m.successor(key, name)
	switch {
	case m.entities[m.owner(key.Namespace, name.Owner)].Archived:
		if m.policies[key.Namespace].ArchivedStatus == 410 {
			return dibs.ResolveGone, Key{}
		}
		return dibs.ResolveNotFound, Key{}
	case !ok:
		return dibs.ResolveGone, Key{}
	case successor == key:
		return dibs.ResolveActive, key
	}
	return dibs.ResolveMoved, successor
}

// successor finds the active name that an entity's name leads to.
func (m *Model) successor(key Key, name Name) (Key, bool) {
	for _, active := range m.actives(key.Namespace, name.Owner) {
		if !m.policies[key.Namespace].ManyPerEntity || m.names[active].Line == name.Line {
			return active, true
		}
	}
	return Key{}, false
}

// Check returns why a name is not available to an entity, or nil.
func (m *Model) Check(now int64, namespace, value string, entity dibs.Entity) *Refusal {
	m.advance(now)
	key, refused := m.wanted(namespace, value)
	if refused != nil {
		return refused
	}
	return m.free(key, entity)
}

// WhoHeld returns the state of a name at a time in the past, or now.
func (m *Model) WhoHeld(now int64, key Key, at int64) Moment {
	m.advance(now)
	was := Moment{State: dibs.Free}
	for _, moment := range m.past[key] {
		if moment.At <= at {
			was = moment
		}
	}
	return was
}

// Dates returns all times at which something ends by itself.
func (m *Model) Dates() []int64 {
	var dates []int64
	for key, name := range m.names {
		switch {
		case name.State == dibs.Held:
			dates = append(dates, name.ExpiresAt)
		case name.Until != 0:
			dates = append(dates, name.Until)
		case name.State == dibs.Free && !name.Established:
			dates = append(dates, name.EndedAt+m.policies[key.Namespace].HoldHistory.Milliseconds())
		}
	}
	slices.Sort(dates)
	return dates
}

// Keys returns the sorted keys of all names that satisfy a condition.
func (m *Model) Keys(condition func(Name) bool) []Key {
	var keys []Key
	for key, name := range m.names {
		if condition(name) {
			keys = append(keys, key)
		}
	}
	sortKeys(keys)
	return keys
}
