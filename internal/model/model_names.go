package model

import "github.com/calldibs/dibs"

// address finds the key that a value means.
func (m *Model) address(namespace, value string) (Key, *Refusal) {
	canonical, err := m.policies[namespace].Profile.Canonical(value)
	if err != nil {
		return Key{}, refuse(dibs.CodeInvalidValue)
	}
	key := Key{namespace, canonical}
	m.ids[dibs.NameID(namespace, canonical)] = key
	return key, nil
}

// wanted is address for a name that somebody wants to have.
func (m *Model) wanted(namespace, value string) (Key, *Refusal) {
	key, refused := m.address(namespace, value)
	if refused != nil {
		return Key{}, refused
	}
	if words := m.policies[namespace].ReservedWords; words != nil && words.Reserved(key.Canonical) {
		return Key{}, refuse(dibs.CodeReservedWord)
	}
	return key, nil
}

// written is how a name is written: as somebody did, or, where values are not kept, in
// the one form that stands for all.
func (m *Model) written(key Key, value string) string {
	if len(m.policies[key.Namespace].Blind) > 0 {
		return key.Canonical
	}
	return value
}

// byID finds the row behind a reservation id.
func (m *Model) byID(id dibs.ID) (Key, Name, bool) {
	key, ok := m.ids[id]
	if !ok {
		return Key{}, Name{}, false
	}
	key = m.follow(key)
	name, ok := m.names[key]
	return key, name, ok && !name.Forgotten
}

// taken says whether and why a name is kept from an entity.
func (m *Model) taken(key Key, entity dibs.Entity) *Refusal {
	name, ok := m.names[key]
	if !ok {
		return nil
	}
	reason := dibs.Reason("")
	switch name.State {
	case dibs.Held:
		reason = dibs.ReasonHeld
	case dibs.Suspect:
		reason = dibs.ReasonSuspect
	case dibs.Active, dibs.Alias:
		reason = dibs.ReasonInUse
	case dibs.Quarantined:
		if entity != name.Owner || name.Forgotten {
			reason = dibs.ReasonQuarantined
		}
	case dibs.Free:
	}
	if reason == "" {
		return nil
	}
	return &Refusal{Code: dibs.CodeNameTaken, Reason: reason}
}

// nextEpoch is the epoch of the next hold or owner of a name.
func (m *Model) nextEpoch(key Key) uint64 {
	if name, ok := m.names[key]; ok {
		return name.Epoch + 1
	}
	return m.floors[key.Namespace] + 1
}

// put stores a name and remembers what it is from a moment on.
func (m *Model) put(key Key, name Name, at int64) {
	if m.names[key].Forgotten && !name.Forgotten {
		m.told[key] = m.now // with the tombstone goes what it told
	}
	m.names[key] = name
	if !nobodyHas(name) {
		delete(m.moved, key) // it is a name of its own again
	}
	m.remember(key, name, at)
}

// owner addresses an entity that has to do with a namespace.
func (m *Model) owner(namespace string, entity dibs.Entity) Owner {
	return Owner{m.scopes[namespace], entity}
}

// touch notes that an entity's names were changed: its version goes up by one for
// each command that does so, no matter how many names it changes.
func (m *Model) touch(owner Owner) {
	if m.touched[owner] {
		return
	}
	m.touched[owner] = true
	e := m.entities[owner]
	e.Version++
	m.entities[owner] = e
}

// revive makes an entity known that gets a name, also one that was deleted.
func (m *Model) revive(owner Owner) {
	m.touch(owner)
	e := m.entities[owner]
	e.Deleted = false
	m.entities[owner] = e
}

// owns says whether an entity has a name, as active name or alias.
func owns(name Name, entity dibs.Entity) bool {
	return (name.State == dibs.Active || name.State == dibs.Alias) && name.Owner == entity
}

// nobodyHas says whether a name is free. One that is held or in quarantine counts
// as somebody's, though it is no entity's.
func nobodyHas(name Name) bool { return name.State == "" || name.State == dibs.Free }

// actives returns the keys of an entity's active names in a namespace.
func (m *Model) actives(namespace string, entity dibs.Entity) []Key {
	var keys []Key
	for key, name := range m.names {
		if key.Namespace == namespace && name.State == dibs.Active && name.Owner == entity {
			keys = append(keys, key)
		}
	}
	return keys
}

// demote makes an active name an alias.
func (m *Model) demote(key Key) {
	name := m.names[key]
	name.State = dibs.Alias
	name.Until = 0
	if retention := m.policies[key.Namespace].AliasRetention; retention > 0 {
		name.Until = m.now + retention.Milliseconds()
	}
	m.put(key, name, m.now)
}

// giveUp ends an entity's having a name, at a moment.
func (m *Model) giveUp(key Key, at int64) (locked bool) {
	name := m.names[key]
	name.State = dibs.Free
	name.Status = dibs.StatusReleased
	name.EndedAt = at
	name.Until = 0
	if quarantine := m.policies[key.Namespace].Quarantine; quarantine > 0 {
		name.State = dibs.Quarantined
		name.Until = at + quarantine.Milliseconds()
		locked = true
	}
	m.put(key, name, at)
	return locked
}

// own makes a name an entity's active one. Line is what it succeeds to; zero
// begins a line of its own.
func (m *Model) own(key Key, name Name, entity dibs.Entity, line int) {
	if line == 0 {
		m.lines++
		line = m.lines
	}
	name.State = dibs.Active
	name.Status = dibs.StatusConfirmed
	name.Owner = entity
	name.Line = line
	name.Until = 0
	name.EndedAt = 0
	name.Confirmed = true
	name.Established = true
	m.revive(m.owner(key.Namespace, entity))
	m.put(key, name, m.now)
}
