package model

import (
	"time"

	"github.com/calldibs/dibs"
)

// ttl returns the bounded duration of a hold.
func (m *Model) ttl(namespace string, ttl dibs.TTL) (int64, *Refusal) {
	policy := m.policies[namespace]
	d, set := ttl.Duration()
	if !set {
		d = policy.DefaultTTL
	}
	d = d.Truncate(time.Millisecond)
	if d < policy.MinTTL {
		return 0, refuse(dibs.CodeInvalidTTL)
	}
	if d > policy.MaxTTL || d > policy.MaxHold {
		return 0, refuse(dibs.CodeTTLTooLong)
	}
	return d.Milliseconds(), nil
}

// mine reports whether the last hold on a name has this token and principal.
func (m *Model) mine(name Name, token string, p dibs.Principal) bool {
	if name.Token == "" || name.Token != token {
		return false
	}
	return name.Principal == p.Name || p.Has(dibs.ActForOthers)
}

func alive(name Name) bool { return name.State == dibs.Held || name.State == dibs.Suspect }

// over is the refusal of a hold that has ended.
func over(name Name) *Refusal {
	switch {
	case name.Confirmed:
		return refuse(dibs.CodeAlreadyConfirmed)
	case name.Status == dibs.StatusReleased:
		return refuse(dibs.CodeAlreadyReleased)
	}
	return refuse(dibs.CodeAlreadyExpired)
}

// ownHold decides about the token's own last hold on a name: a replay, a refusal, or
// neither if there is none.
func (m *Model) ownHold(p dibs.Principal, key Key, token string, entity dibs.Entity) (replay bool, refused *Refusal) {
	name, ok := m.names[key]
	switch {
	case !ok || !m.mine(name, token, p):
		return false, nil
	case !alive(name):
		return false, over(name)
	case name.Intended != entity:
		return false, refuse(dibs.CodeInvalidToken)
	}
	return true, nil
}

// liveHolds counts a principal's holds in a namespace.
func (m *Model) liveHolds(namespace, principal string) int {
	n := 0
	for key, name := range m.names {
		if key.Namespace == namespace && alive(name) && name.Principal == principal {
			n++
		}
	}
	return n
}

func (m *Model) reserve(p dibs.Principal, c dibs.Reserve) (Result, *Refusal) {
	key, refused := m.wanted(c.Namespace, c.Value)
	if refused != nil {
		return Result{}, refused
	}
	ttl, refused := m.ttl(c.Namespace, c.TTL)
	if refused != nil {
		return Result{}, refused
	}
	replay, refused := m.ownHold(p, key, c.Token, c.Entity)
	if refused != nil {
		return Result{}, refused
	}
	if replay {
		return Result{Replayed: true, Keys: []Key{key}}, nil
	}
	if refused := m.available(p, key, c.Token, c.Entity); refused != nil {
		return Result{}, refused
	}
	m.hold(p, key, c, ttl)
	return Result{Keys: []Key{key}}, nil
}

// available returns why a new hold on a name would be refused.
func (m *Model) available(p dibs.Principal, key Key, token string, entity dibs.Entity) *Refusal {
	if refused := m.free(key, entity); refused != nil {
		return refused
	}
	if refused := m.late(p, key, token); refused != nil {
		return refused
	}
	most := m.policies[key.Namespace].MaxHolds
	if most > 0 && m.liveHolds(key.Namespace, p.Name) >= most {
		return refuse(dibs.CodeTooManyHolds)
	}
	return m.crowded(key)
}

// hold takes a name that is available.
func (m *Model) hold(p dibs.Principal, key Key, c dibs.Reserve, ttl int64) {
	old := m.names[key]
	name := Name{
		Value: m.written(key, c.Value), State: dibs.Held, Status: dibs.StatusReserved, Epoch: m.nextEpoch(key),
		Token: c.Token, Principal: p.Name, Intended: c.Entity,
		Began: m.now, ExpiresAt: m.now + ttl,
		Established: old.Established, Spent: m.spent(key, old.EndedAt),
	}
	if old.State == dibs.Quarantined {
		name.Owner, name.Until = old.Owner, old.Until
	}
	m.put(key, name, m.now)
}

func (m *Model) reserveAll(p dibs.Principal, c dibs.ReserveAll) (Result, *Refusal) {
	parts := make(map[int]*Refusal)
	all := Result{Replayed: true}
	for i, r := range c.Reservations {
		r.Token = c.Token
		result, refused := m.reserve(p, r)
		if refused != nil {
			parts[i] = refused
			continue
		}
		all.Keys = append(all.Keys, result.Keys...)
		all.Replayed = all.Replayed && result.Replayed
	}
	if len(parts) > 0 {
		return Result{}, first(parts)
	}
	return all, nil
}

func (m *Model) reserveFirst(p dibs.Principal, c dibs.ReserveFirst) (Result, *Refusal) {
	ttl, _ := m.ttl(c.Namespace, c.TTL)
	parts := make(map[int]*Refusal)
	keys := make([]Key, len(c.Values))
	for i, value := range c.Values {
		var refused *Refusal
		if keys[i], refused = m.wanted(c.Namespace, value); refused != nil {
			parts[i] = refused
		}
	}

	// First a name that the token holds, then one that it held, then one that is free.
	var ended *Refusal
	for i, key := range keys {
		if parts[i] != nil {
			continue
		}
		replay, refused := m.ownHold(p, key, c.Token, c.Entity)
		if !replay && refused == nil && ended == nil {
			ended = m.late(p, key, c.Token)
		}
		switch {
		case replay:
			return Result{Replayed: true, Keys: []Key{key}}, nil
		case refused != nil && alive(m.names[key]):
			return Result{}, refused
		case refused != nil && ended == nil:
			ended = refused
		}
	}
	if ended != nil {
		return Result{}, ended
	}
	for i, key := range keys {
		if parts[i] != nil {
			continue
		}
		refused := m.available(p, key, c.Token, c.Entity)
		if refused != nil && refused.Code != dibs.CodeNameTaken {
			return Result{}, refused
		}
		if refused != nil {
			parts[i] = refused
			continue
		}
		m.hold(p, key, dibs.Reserve{Value: c.Values[i], Token: c.Token, Entity: c.Entity}, ttl)
		return Result{Keys: []Key{key}}, nil
	}
	return Result{}, first(parts)
}
