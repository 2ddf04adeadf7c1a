package model

import "github.com/calldibs/dibs"

func (m *Model) claim(p dibs.Principal, c dibs.Claim) (Result, *Refusal) {
	key, refused := m.wanted(c.Namespace, c.Value)
	if refused != nil {
		return Result{}, refused
	}
	owner := m.owner(c.Namespace, c.Entity)
	name := m.names[key]
	if name.State == dibs.Active && name.Owner == c.Entity {
		return Result{Replayed: true, Keys: []Key{key}, Version: m.entities[owner].Version}, nil
	}
	if refused := m.free(key, c.Entity); refused != nil {
		return Result{}, refused
	}
	if m.entities[owner].Archived {
		return Result{}, refuse(dibs.CodeEntityArchived)
	}
	if !m.policies[c.Namespace].ManyPerEntity && len(m.actives(c.Namespace, c.Entity)) > 0 {
		return Result{}, refuse(dibs.CodeEntityHasName)
	}
	if refused := m.crowded(key); refused != nil {
		return Result{}, refused
	}
	m.take(p, key, c.Value, c.Entity, 0)
	return Result{Keys: []Key{key}, Version: m.entities[owner].Version}, nil
}

// take makes a free name an entity's active one, with a new epoch that belongs to no
// token.
func (m *Model) take(p dibs.Principal, key Key, value string, entity dibs.Entity, line int) {
	m.own(key, Name{Value: m.written(key, value), Epoch: m.nextEpoch(key), Principal: p.Name, Began: m.now, Spent: m.spent(key, m.names[key].EndedAt)}, entity, line)
}

func (m *Model) rename(p dibs.Principal, c dibs.Rename) (Result, *Refusal) {
	key, refused := m.wanted(c.Namespace, c.Value)
	if refused != nil {
		return Result{}, refused
	}
	owner := m.owner(c.Namespace, c.Entity)
	name := m.names[key]
	isActive := name.State == dibs.Active && name.Owner == c.Entity
	if from, refused := m.address(c.Namespace, c.From); refused == nil && from != key {
		// Both are active: neither has replaced the other, nor can it.
		old := m.names[from]
		isActive = isActive && (old.State != dibs.Active || old.Owner != c.Entity)
	}
	if isActive && name.Value == m.written(key, c.Value) {
		return Result{Replayed: true, Keys: []Key{key}, Version: m.entities[owner].Version}, nil
	}
	if c.IfVersion != 0 && c.IfVersion != m.entities[owner].Version {
		return Result{}, refuse(dibs.CodeVersionMismatch)
	}
	if m.entities[owner].Archived {
		return Result{}, refuse(dibs.CodeEntityArchived)
	}
	if isActive {
		name.Value = m.written(key, c.Value)
		m.touch(owner)
		m.put(key, name, m.now)
		return Result{Keys: []Key{key}, Version: m.entities[owner].Version}, nil
	}

	line, refused := m.replaced(c.Namespace, c.Entity, true, c.From)
	if refused != nil {
		return Result{}, refused
	}
	switch {
	case name.State == dibs.Alias && name.Owner == c.Entity:
		name.Value = m.written(key, c.Value)
		m.own(key, name, c.Entity, line)
	case alive(name) && m.mine(name, c.Token, p):
		if name.Intended != (dibs.Entity{}) && name.Intended != c.Entity {
			return Result{}, refuse(dibs.CodeNotOwner)
		}
		name.Value = m.written(key, c.Value)
		m.own(key, name, c.Entity, line)
	default:
		if refused := m.free(key, c.Entity); refused != nil {
			return Result{}, refused
		}
		if refused := m.crowded(key); refused != nil {
			return Result{}, refused
		}
		m.take(p, key, c.Value, c.Entity, line)
	}
	return Result{Keys: []Key{key}, Version: m.entities[owner].Version}, nil
}

func (m *Model) decommission(c dibs.Decommission) (Result, *Refusal) {
	key, refused := m.address(c.Namespace, c.Value)
	if refused != nil {
		return Result{}, refused
	}
	owner := m.owner(c.Namespace, c.Entity)
	name, ok := m.names[key]
	result := Result{Keys: []Key{key}}
	switch {
	case !ok:
		return Result{}, refuse(dibs.CodeNotFound)
	case (name.State == dibs.Free || name.State == dibs.Quarantined) && name.Owner == c.Entity:
		result.Replayed = true
		result.Version = m.entities[owner].Version
		return result, nil
	case isFree(name):
		return Result{}, refuse(dibs.CodeNotFound)
	case !owns(name, c.Entity):
		return Result{}, refuse(dibs.CodeNotOwner)
	}
	m.touch(owner)
	if m.giveUp(key, m.now) {
		result.Locked = []Key{key}
	} else {
		result.Freed = []Key{key}
	}
	result.Version = m.entities[owner].Version
	return result, nil
}
