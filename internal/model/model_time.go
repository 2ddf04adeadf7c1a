package model

import "github.com/calldibs/dibs"

// Moment is the state of a name from a time on.
type Moment struct {
	At     int64
	State  dibs.State
	Entity dibs.Entity
	Epoch  uint64
	// Fresh says that a hold or a claim began then.
	Fresh bool
	// Vacated says that the name moved to another key.
	Vacated bool
}

// remember adds to a name's past. The clock is applied before every command, so a
// past is always sorted by time.
func (m *Model) remember(key Key, name Name, at int64) {
	m.past[key] = append(m.past[key], Moment{At: at, State: name.State, Entity: name.shown(), Epoch: name.Epoch, Fresh: name.Fresh()})
}

// Fresh reports whether a name is as it was when its last hold, or its claim without one, began.
func (n Name) Fresh() bool { return n.State == dibs.Held || n.Token == "" }

// shown is the entity that readers see.
func (n Name) shown() dibs.Entity {
	if n.State == dibs.Held || n.State == dibs.Suspect || n.Owner == (dibs.Entity{}) {
		return n.Intended
	}
	return n.Owner
}

// advance moves the clock and ends everything that is over by then. A date is
// reached at its exact millisecond.
func (m *Model) advance(now int64) {
	m.now = now
	for key := range m.names {
		// One end may lead to the next: a hold to a quarantine, a quarantine to free.
		for m.lapse(key) {
		}
	}
}

// lapse ends one thing about a name that is over, at its own date.
func (m *Model) lapse(key Key) bool {
	name := m.names[key]
	switch {
	case name.State == dibs.Held && name.ExpiresAt <= m.now:
		if m.policies[key.Namespace].Witness != nil {
			name.State = dibs.Suspect
			name.Status = dibs.StatusSuspect
			m.put(key, name, name.ExpiresAt)
			return true
		}
		m.endHold(key, name, dibs.StatusExpired, name.ExpiresAt)
		return true
	case name.State == dibs.Alias && name.Until != 0 && name.Until <= m.now:
		// Time alone ends an alias and raises no version: otherwise callers would notice a sweep.
		m.giveUp(key, name.Until)
		return true
	case name.State == dibs.Quarantined && name.Until <= m.now:
		at := name.Until
		name.State = dibs.Free
		name.Until = 0
		m.put(key, name, at)
		return true
	}
	return false
}

// endHold frees a held or suspect name, or returns it to the quarantine that it was
// taken from.
func (m *Model) endHold(key Key, name Name, status dibs.Status, at int64) {
	name.Status = status
	name.EndedAt = at
	if name.Until > at {
		name.State = dibs.Quarantined
	} else {
		name.State = dibs.Free
		name.Until = 0
	}
	m.put(key, name, at)
}

// Past returns the whole past of a name, oldest first.
func (m *Model) Past(key Key) []Moment { return m.past[key] }
