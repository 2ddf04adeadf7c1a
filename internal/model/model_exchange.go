package model

import "github.com/calldibs/dibs"

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
