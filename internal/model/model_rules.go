package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Plan describes what happens to the names of a namespace under new rules.
type Plan struct {
	Looked  int
	Invalid []Key
	Groups  map[Key][]Key // by their new key: the sorted keys of names that are not free
	merges  map[Key]bool
}

// Plan plans the change of a namespace to another policy.
func (m *Model) Plan(now int64, namespace string, policy dibs.Policy) Plan {
	m.advance(now)
	p := Plan{Groups: make(map[Key][]Key), merges: make(map[Key]bool)}
	for _, key := range m.Keys(func(n Name) bool { return !isFree(n) }) {
		if key.Namespace != namespace {
			continue
		}
		p.Looked++
		name := m.names[key]
		canonical, err := policy.Profile.Canonical(name.Value)
		switch {
		case err == nil:
			to := Key{namespace, canonical}
			p.Groups[to] = append(p.Groups[to], key)
		case name.State != dibs.Quarantined: // no value leads to it any more
			p.Invalid = append(p.Invalid, key)
		}
	}
	for to, keys := range p.Groups {
		p.merges[to] = m.areOne(keys)
	}
	return p
}

// areOne reports whether names with the same new key belong to one entity, with at most one
// active name.
func (m *Model) areOne(keys []Key) bool {
	active := 0
	for _, key := range keys {
		name := m.names[key]
		if len(keys) > 1 && !owns(name, m.names[keys[0]].Owner) {
			return false
		}
		if name.State == dibs.Active {
			active++
		}
	}
	return active <= 1
}

// Possible reports whether nothing prevents the change.
func (p Plan) Possible() bool {
	for to := range p.Groups {
		if p.Collides(to) {
			return false
		}
	}
	return len(p.Invalid) == 0
}

// Collides reports whether names of several owners get this key.
func (p Plan) Collides(to Key) bool { return !p.merges[to] }

// Change moves the names of a namespace to another policy, as planned.
func (m *Model) Change(now int64, namespace string, policy dibs.Policy) {
	plan := m.Plan(now, namespace, policy)
	m.policies[namespace] = policy
	for to, keys := range plan.Groups {
		m.become(to, keys)
	}
}

// become merges several names into one. The name that has the new key stays, otherwise the
// first; it takes over the states of the others.
func (m *Model) become(to Key, keys []Key) {
	stays := keys[0]
	if slices.Contains(keys, to) {
		stays = to
	}
	one := m.names[stays]
	if stays != to {
		one.Spent = append(m.spent(to, m.names[to].EndedAt), moved(one.Spent)...)
	}
	for _, key := range keys {
		name := m.names[key]
		if key != stays {
			one.Spent = append(slices.Clip(one.Spent), moved(m.spent(key, m.now))...)
		}
		one.Epoch = max(one.Epoch, name.Epoch)
		one.Established = one.Established || name.Established
		switch {
		case key == stays:
		case name.State == dibs.Active:
			one.State, one.Line, one.Until = dibs.Active, name.Line, 0
		case one.State == dibs.Alias && (name.Until == 0 || name.Until > one.Until) && one.Until != 0:
			one.Until = name.Until
		}
	}
	if len(keys) == 1 && stays == to {
		return
	}
	if stays != to {
		one.Established = one.Established || m.names[to].Established
	}
	delete(m.moved, to)
	for _, key := range keys {
		if key != to {
			m.vacate(key, to)
		}
	}
	m.put(to, one, m.now)
}

// vacate leaves a key whose name has moved to another one.
func (m *Model) vacate(key, to Key) {
	name := m.names[key]
	name.State, name.Status = dibs.Free, dibs.StatusReleased
	name.Token, name.Spent, name.Until, name.EndedAt = "", nil, 0, m.now
	m.put(key, name, m.now)
	m.past[key][len(m.past[key])-1].Vacated = true
	m.moved[key] = to
	from := append([]Key{key}, m.from[key]...)
	for _, k := range append(from, m.from[to]...) {
		if k != to && !slices.Contains(m.from[to], k) {
			m.from[to] = append(slices.Clip(m.from[to]), k)
		}
	}
	delete(m.from, key)
}

// Former returns the keys whose reservation ids lead to this one.
func (m *Model) Former(key Key) []Key {
	var keys []Key
	for k := range m.moved {
		if k != key && m.follow(k) == key {
			keys = append(keys, k)
		}
	}
	sortKeys(keys)
	return keys
}

func (m *Model) follow(key Key) Key {
	for {
		to, ok := m.moved[key]
		if !ok {
			return key
		}
		key = to
	}
}

// Learn records the epoch of a name after the rules have changed. It must not be lower
// than before; the rules do not say how much higher it is.
func (m *Model) Learn(key Key, epoch uint64) bool {
	name := m.names[key]
	if epoch < name.Epoch {
		return false
	}
	name.Epoch = epoch
	m.names[key] = name
	moments := m.past[key]
	moments[len(moments)-1].Epoch = epoch
	return true
}

// WhoHeldOneOf is WhoHeld for a name that was merged: the state of each. If one moved to
// another, only the other counts.
func (m *Model) WhoHeldOneOf(now int64, key Key, at int64) []Moment {
	var were []Moment
	for _, k := range append([]Key{key}, m.from[key]...) {
		was := m.WhoHeld(now, k, at)
		if was.Vacated && len(m.from[key]) > 0 {
			continue
		}
		were = append(were, was)
	}
	return were
}
