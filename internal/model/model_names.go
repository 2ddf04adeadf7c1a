package model

import "github.com/calldibs/dibs"

// address finds the key of a value.
func (m *Model) address(namespace, value string) (Key, *Refusal) {
	canonical, err := m.policies[namespace].Profile.Canonical(value)
	if err != nil {
		return Key{}, refuse(dibs.CodeInvalidValue)
	}
	key := Key{namespace, canonical}
	m.ids[dibs.NameID(namespace, canonical)] = key
	return key, nil
}

// wanted is address for a name that a caller wants to take.
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

// written is the spelling of a name: the caller's, or the canonical form where values are
// not kept.
func (m *Model) written(key Key, value string) string {
	if len(m.policies[key.Namespace].Blind) > 0 {
		return key.Canonical
	}
	return value
}

// byID finds the name of a reservation id.
func (m *Model) byID(id dibs.ID) (Key, Name, bool) {
	key, ok := m.ids[id]
	if !ok {
		return Key{}, Name{}, false
	}
	key = m.follow(key)
	name, ok := m.names[key]
	return key, name, ok && !name.Forgotten
}

// taken returns why an entity cannot have a name, or nil.
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
	return m.purgedEpochs[key.Namespace] + 1
}

// put stores a name and records its state from a time on.
func (m *Model) put(key Key, name Name, at int64) {
	if m.names[key].Forgotten && !name.Forgotten {
		m.erasedAt[key] = m.now // the tombstone is removed, and the time before it is unknown
	}
	m.names[key] = name
	if !isFree(name) {
		delete(m.moved, key) // it is a separate name again
	}
	m.remember(key, name, at)
}

// owner identifies an entity of a namespace.
func (m *Model) owner(namespace string, entity dibs.Entity) Owner {
	return Owner{m.scopes[namespace], entity}
}

// touch records that an entity's names have changed: its version increases by one for
// each such command, no matter how many names it changes.
func (m *Model) touch(owner Owner) {
	if m.touched[owner] {
		return
	}
	m.touched[owner] = true
	e := m.entities[owner]
	e.Version++
	m.entities[owner] = e
}

// revive creates an entity that gets a name, also a deleted one.
func (m *Model) revive(owner Owner) {
	m.touch(owner)
	e := m.entities[owner]
	e.Deleted = false
	m.entities[owner] = e
}

// owns reports whether an entity has a name, as its active name or an alias.
func owns(name Name, entity dibs.Entity) bool {
	return (name.State == dibs.Active || name.State == dibs.Alias) && name.Owner == entity
}

// isFree reports whether a name is free. A held or quarantined name is not, although no
// entity has it.
func isFree(name Name) bool { return name.State == "" || name.State == dibs.Free }

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
func (m *Model) demote(key Key) { m.demoteSince(key, m.now) }

func (m *Model) demoteSince(key Key, at int64) {
	name := m.names[key]
	name.State = dibs.Alias
	name.Until = 0
	if retention := m.policies[key.Namespace].AliasRetention; retention > 0 {
		name.Until = m.now + retention.Milliseconds()
	}
	m.put(key, name, at)
}

// giveUp ends an entity's ownership of a name, at a time.
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

// own makes a name an entity's active one. Line is the line that it continues; zero
// begins a new one.
func (m *Model) own(key Key, name Name, entity dibs.Entity, line int) {
	m.ownSince(key, name, entity, line, m.now)
}

func (m *Model) ownSince(key Key, name Name, entity dibs.Entity, line int, at int64) {
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
	m.put(key, name, at)
}
