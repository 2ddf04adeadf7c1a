package model

import "github.com/calldibs/dibs"

// held finds a hold by its token. The caller checks whether it is over.
func (m *Model) held(p dibs.Principal, id dibs.ID, token string) (Key, Name, *Refusal) {
	key, name, ok := m.byID(id)
	switch {
	case !ok:
		return key, name, refuse(dibs.CodeNotFound)
	case !m.mine(name, token, p):
		return key, name, refuse(dibs.CodeLost)
	}
	return key, name, nil
}

func (m *Model) extend(p dibs.Principal, c dibs.Extend) (Result, *Refusal) {
	key, name, refused := m.held(p, c.ID, c.Token)
	if refused != nil {
		return Result{}, refused
	}
	if !alive(name) {
		return Result{}, over(name)
	}
	ttl, refused := m.ttl(key.Namespace, c.TTL)
	if refused != nil {
		return Result{}, refused
	}
	end := m.now + ttl
	if end > name.Began+m.policies[key.Namespace].MaxHold.Milliseconds() {
		return Result{}, refuse(dibs.CodeTTLTooLong)
	}
	if end <= name.ExpiresAt {
		return Result{Replayed: true, Keys: []Key{key}}, nil
	}
	name.State = dibs.Held
	name.Status = dibs.StatusReserved
	name.ExpiresAt = end
	m.put(key, name, m.now)
	return Result{Keys: []Key{key}}, nil
}

func (m *Model) confirm(p dibs.Principal, c dibs.Confirm) (Result, *Refusal) {
	key, name, refused := m.held(p, c.ID, c.Token)
	if refused != nil {
		return Result{}, refused
	}
	switch {
	case alive(name):
	case owns(name, c.Entity):
		return Result{Replayed: true, Keys: []Key{key}}, nil
	case name.Confirmed && name.Status == dibs.StatusReleased:
		return Result{}, refuse(dibs.CodeAlreadyReleased)
	default:
		return Result{}, over(name)
	}
	if refused := m.activate(key, name, c.Entity, c.Replace || c.Replaces != "", c.Replaces); refused != nil {
		return Result{}, refused
	}
	return Result{Keys: []Key{key}}, nil
}

// activate makes a live hold an entity's active name.
func (m *Model) activate(key Key, name Name, entity dibs.Entity, replace bool, replaces string) *Refusal {
	if name.Intended != (dibs.Entity{}) && name.Intended != entity {
		return refuse(dibs.CodeNotOwner)
	}
	if m.entities[m.owner(key.Namespace, entity)].Archived {
		return refuse(dibs.CodeEntityArchived)
	}
	line, refused := m.replaced(key.Namespace, entity, replace, replaces)
	if refused != nil {
		return refused
	}
	m.own(key, name, entity, line)
	return nil
}

// replaced finds the name that a new active name replaces, makes it an alias and
// returns its line. Without such a name the line is zero.
func (m *Model) replaced(namespace string, entity dibs.Entity, replace bool, replaces string) (int, *Refusal) {
	actives := m.actives(namespace, entity)
	many := m.policies[namespace].ManyPerEntity
	switch {
	case replaces != "":
		key, refused := m.address(namespace, replaces)
		if refused != nil {
			return 0, refused
		}
		old := m.names[key]
		if old.State != dibs.Active || old.Owner != entity {
			return 0, refuse(dibs.CodeNotOwner)
		}
		m.demote(key)
		return old.Line, nil
	case len(actives) == 0 || (many && !replace):
		return 0, nil
	case many || !replace:
		return 0, refuse(dibs.CodeEntityHasName)
	}
	old := m.names[actives[0]]
	m.demote(actives[0])
	return old.Line, nil
}

func (m *Model) release(p dibs.Principal, c dibs.Release) (Result, *Refusal) {
	key, name, refused := m.held(p, c.ID, c.Token)
	if refused != nil {
		return Result{}, refused
	}
	switch {
	case alive(name):
		m.endHold(key, name, dibs.StatusReleased, m.now)
		return Result{Keys: []Key{key}}, nil
	case !name.Confirmed && name.Status == dibs.StatusReleased:
		return Result{Replayed: true, Keys: []Key{key}}, nil
	}
	return Result{}, over(name)
}
