package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Forget erases an entity, and returns the keys of the names that are erased with it. It
// also removes the entity from the past of other names.
func (m *Model) Forget(now int64, owner Owner) (erased []Key) {
	m.advance(now)
	m.touched = make(map[Owner]bool)
	if e, ok := m.entities[owner]; ok && !e.Deleted {
		m.remove(dibs.Delete{Scope: owner.Scope, Entity: owner.Entity})
	}
	for key, name := range m.names {
		switch {
		case m.scopes[key.Namespace] != owner.Scope || name.Forgotten:
		case m.isLast(key, name, owner.Entity):
			m.bury(key, name)
			erased = append(erased, key)
		default:
			m.clean(key, name, owner.Entity)
		}
	}
	sortKeys(erased)
	return erased
}

// isLast reports whether a name is held for an entity, or had no other owner since.
func (m *Model) isLast(key Key, name Name, entity dibs.Entity) bool {
	if alive(name) {
		return name.Intended == entity
	}
	var last dibs.Entity
	for _, moment := range m.past[key] {
		if moment.Entity != (dibs.Entity{}) {
			last = moment.Entity
		}
	}
	return last == entity
}

// bury keeps only the epoch and the quarantine of a name.
func (m *Model) bury(key Key, name Name) {
	tomb := Name{State: name.State, Status: dibs.StatusReleased, Epoch: name.Epoch, EndedAt: m.now, Until: name.Until, Forgotten: true}
	if alive(name) {
		tomb.State = dibs.Free
		if name.Until > m.now {
			tomb.State = dibs.Quarantined
		}
	}
	if tomb.State == dibs.Free {
		tomb.Until = 0
	}
	m.names[key] = tomb
	m.past[key] = nil
	m.remember(key, tomb, m.now)
	m.erasedAt[key] = m.now
}

// clean removes an entity from the past of a name, and its token from a name that another
// entity has by now.
func (m *Model) clean(key Key, name Name, entity dibs.Entity) {
	began := m.began(key)
	for i, moment := range m.past[key] {
		if moment.Entity != entity {
			continue
		}
		m.past[key][i].Entity = dibs.Entity{}
		name.Spent = slices.DeleteFunc(slices.Clone(name.Spent), func(s Spent) bool { return s.Unknown || slices.Contains(s.Whose, entity) })
		if moment.Epoch >= began && !alive(name) {
			name.Token, name.Principal, name.Intended = "", "", dibs.Entity{}
		}
	}
	m.names[key] = name
}

// ErasedAt returns the time of a name's last erasure: nothing before it is known. It is 0
// if the name was never erased.
func (m *Model) ErasedAt(key Key) int64 { return m.erasedAt[key] }
