package model

import (
	"cmp"
	"slices"

	"github.com/calldibs/dibs"
)

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

// enter is the Import of a name.
func (m *Model) enter(p dibs.Principal, c dibs.Import) (Result, *Refusal) {
	key, refused := m.wanted(c.Namespace, c.Value)
	if refused != nil {
		return Result{}, refused
	}
	owner, name := m.owner(c.Namespace, c.Entity), m.names[key]
	if owns(name, c.Entity) {
		if (name.State == dibs.Alias) != (c.AliasOf != "") {
			return Result{}, refuse(dibs.CodeEntityHasName)
		}
		return Result{Replayed: true, Keys: []Key{key}, Version: m.entities[owner].Version}, nil
	}
	if refused := m.free(key, c.Entity); refused != nil {
		return Result{}, refused
	}
	if m.entities[owner].Archived {
		return Result{}, refuse(dibs.CodeEntityArchived)
	}
	at := m.now
	if !c.Since.IsZero() {
		if at = c.Since.UnixMilli(); at > m.now {
			return Result{}, refuse(dibs.CodeInvalidValue)
		}
		at = max(at, name.EndedAt) // a past stays sorted
	}
	line := 0
	if c.AliasOf != "" {
		to, _ := m.address(c.Namespace, c.AliasOf)
		if m.names[to].State != dibs.Active || m.names[to].Owner != c.Entity {
			return Result{}, refuse(dibs.CodeNotOwner)
		}
		line = m.names[to].Line
	} else if !m.policies[c.Namespace].ManyPerEntity && len(m.actives(c.Namespace, c.Entity)) > 0 {
		return Result{}, refuse(dibs.CodeEntityHasName)
	}
	if refused := m.crowded(key); refused != nil {
		return Result{}, refused
	}
	fresh := Name{Value: m.written(key, c.Value), Epoch: m.nextEpoch(key), Principal: p.Name, Began: at, Spent: m.spent(key, name.EndedAt)}
	m.ownSince(key, fresh, c.Entity, line, at)
	if c.AliasOf != "" {
		m.demoteSince(key, at)
	}
	return Result{Keys: []Key{key}, Version: m.entities[owner].Version}, nil
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

func (m *Model) transfer(c dibs.Transfer) (Result, *Refusal) {
	key, refused := m.address(c.Namespace, c.Value)
	if refused != nil {
		return Result{}, refused
	}
	name := m.names[key]
	from, to := m.owner(c.Namespace, c.From), m.owner(c.Namespace, c.To)
	switch {
	case owns(name, c.To):
		return Result{Replayed: true, Keys: []Key{key}}, nil
	case isFree(name):
		return Result{}, refuse(dibs.CodeNotFound)
	case !owns(name, c.From):
		return Result{}, refuse(dibs.CodeNotOwner)
	case m.entities[from].Archived || m.entities[to].Archived:
		return Result{}, refuse(dibs.CodeEntityArchived)
	case !m.policies[c.Namespace].ManyPerEntity && len(m.actives(c.Namespace, c.To)) > 0:
		return Result{}, refuse(dibs.CodeEntityHasName)
	}
	if refused := m.confusable(key, c.To); refused != nil {
		return Result{}, refused
	}
	m.touch(from)
	m.handOver(key, c.To, 0)
	return Result{Keys: []Key{key}}, nil
}

// handOver gives a name to another entity, with a new epoch. The last hold on it is
// still the one that was confirmed.
func (m *Model) handOver(key Key, to dibs.Entity, line int) {
	name := m.names[key]
	name.Epoch++
	name.Began = m.now
	m.own(key, name, to, line)
}

func (m *Model) swap(c dibs.Swap) (Result, *Refusal) {
	keyA, refused := m.address(c.Namespace, c.A.Value)
	if refused != nil {
		return Result{}, refused
	}
	keyB, refused := m.address(c.Namespace, c.B.Value)
	if refused != nil {
		return Result{}, refused
	}
	a, b := m.names[keyA], m.names[keyB]
	bothActive := a.State == dibs.Active && b.State == dibs.Active
	keys := []Key{keyA, keyB}
	switch {
	case bothActive && a.Owner == c.B.Entity && b.Owner == c.A.Entity:
		return Result{Replayed: true, Keys: keys}, nil
	case !bothActive || a.Owner != c.A.Entity || b.Owner != c.B.Entity:
		return Result{}, refuse(dibs.CodeNotOwner)
	case m.entities[m.owner(c.Namespace, c.A.Entity)].Archived, m.entities[m.owner(c.Namespace, c.B.Entity)].Archived:
		return Result{}, refuse(dibs.CodeEntityArchived)
	}
	if refused := m.confusable(keyA, c.B.Entity); refused != nil {
		return Result{}, refused
	}
	if refused := m.confusable(keyB, c.A.Entity); refused != nil {
		return Result{}, refused
	}
	// Each entity's aliases follow it to its new name.
	m.handOver(keyA, c.B.Entity, b.Line)
	m.handOver(keyB, c.A.Entity, a.Line)
	return Result{Keys: keys}, nil
}

// archive archives or restores an entity.
func (m *Model) archive(scope string, entity dibs.Entity, archived bool) (Result, *Refusal) {
	owner := Owner{scope, entity}
	e, ok := m.entities[owner]
	if !ok || e.Deleted {
		return Result{}, refuse(dibs.CodeEntityNotFound)
	}
	if e.Archived == archived {
		return Result{Replayed: true, Version: e.Version}, nil
	}
	e.Archived = archived
	e.Version++
	m.entities[owner] = e
	return Result{Version: e.Version}, nil
}

// remove deletes an entity permanently.
func (m *Model) remove(c dibs.Delete) (Result, *Refusal) {
	owner := Owner{c.Scope, c.Entity}
	e, ok := m.entities[owner]
	if !ok {
		return Result{}, refuse(dibs.CodeEntityNotFound)
	}
	if e.Deleted {
		return Result{Replayed: true, Version: e.Version}, nil
	}
	m.touch(owner)
	var result Result
	for _, key := range m.owned(owner) {
		if m.giveUp(key, m.now) {
			result.Locked = append(result.Locked, key)
		} else {
			result.Freed = append(result.Freed, key)
		}
	}
	e = m.entities[owner]
	e.Deleted = true
	e.Archived = false
	m.entities[owner] = e
	result.Version = e.Version
	return result, nil
}

// owned returns the sorted keys of all names of an entity.
func (m *Model) owned(owner Owner) []Key {
	var keys []Key
	for key, name := range m.names {
		if m.scopes[key.Namespace] == owner.Scope && owns(name, owner.Entity) {
			keys = append(keys, key)
		}
	}
	sortKeys(keys)
	return keys
}

func sortKeys(keys []Key) {
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Canonical, b.Canonical))
	})
}
