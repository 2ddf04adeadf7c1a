package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Plan is what becomes of the names of a namespace under other rules.
type Plan struct {
	Looked  int
	Invalid []Key
	Groups  map[Key][]Key // by what they become: the names that are not free, in order
	merges  map[Key]bool
}

// Plan works out what becomes of a namespace's names under another policy.
func (m *Model) Plan(now int64, namespace string, policy dibs.Policy) Plan {
	m.advance(now)
	p := Plan{Groups: make(map[Key][]Key), merges: make(map[Key]bool)}
	for _, key := range m.Keys(func(n Name) bool { return !nobodyHas(n) }) {
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
		case name.State != dibs.Quarantined: // nobody can ask for that any more
			p.Invalid = append(p.Invalid, key)
		}
	}
	for to, keys := range p.Groups {
		p.merges[to] = m.areOne(keys)
	}
	return p
}

// areOne says whether names that become the same are one entity's, with one active
// name at the most.
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

// Possible says whether nothing stands in the way.
func (p Plan) Possible() bool {
	for to := range p.Groups {
		if p.Collides(to) {
			return false
		}
	}
	return len(p.Invalid) == 0
}

// Collides says whether names of several become the same.
func (p Plan) Collides(to Key) bool { return !p.merges[to] }

// Change brings the names of a namespace under another policy, as planned.
func (m *Model) Change(now int64, namespace string, policy dibs.Policy) {
	plan := m.Plan(now, namespace, policy)
	m.policies[namespace] = policy
	for to, keys := range plan.Groups {
		m.become(to, keys)
	}
}

// become makes one name of several. The one that is there already stays, or else the
// first; what the others were to their entity it is from now on.
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

// vacate leaves a key whose name is another one's now.
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

// Former returns the keys that lead to this one by their reservation ids.
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

// Learn notes the epoch that a name has after the rules were changed. It must not be
// lower than before; how much higher is not said.
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

// WhoHeldOneOf is WhoHeld for a name that was several: what each of them was. Where
// one left for another, only the other counts.
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
