package model

import (
	"cmp"
	"slices"

	"github.com/calldibs/dibs"
)

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
