package model

import "github.com/calldibs/dibs"

func (m *Model) settle(c dibs.Settle) (Result, *Refusal) {
	key, name, ok := m.byID(c.ID)
	if !ok {
		return Result{}, refuse(dibs.CodeNotFound)
	}
	exists, entity := m.readVerdict(c.Verdict)
	result := Result{Keys: []Key{key}}
	switch {
	case name.State == dibs.Suspect && exists:
		return result, m.activate(key, name, entity, false, "")
	case name.State == dibs.Suspect:
		m.endHold(key, name, dibs.StatusExpired, m.now)
		return result, nil
	case exists && owns(name, entity), !exists && name.Status == dibs.StatusExpired:
		result.Replayed = true
		return result, nil
	case name.State == dibs.Held:
		return Result{}, &Refusal{Code: dibs.CodeNameTaken, Reason: dibs.ReasonHeld}
	}
	return Result{}, over(name)
}

// readVerdict returns whether a verdict says that an entity exists, and which. A Verdict
// does not expose it, so it is compared with all possible ones.
func (m *Model) readVerdict(v dibs.Verdict) (exists bool, entity dibs.Entity) {
	for _, known := range m.known {
		if v == dibs.Exists(known) {
			return true, known
		}
	}
	return false, dibs.Entity{}
}

// Testify applies what a witness said about a suspect during a sweep. If the verdict is
// refused, the name stays suspect.
func (m *Model) Testify(now int64, id dibs.ID, v dibs.Verdict) {
	if v == dibs.Unknown {
		return
	}
	operator := dibs.Principal{Rights: dibs.Operate}
	_, _ = m.Apply(operator, now, []dibs.Command{dibs.Settle{ID: id, Verdict: v}}, false)
}

// Purgeable reports whether a sweep may purge a name at a time.
func (m *Model) Purgeable(now int64, key Key) bool {
	m.advance(now)
	name, ok := m.names[key]
	return ok && name.State == dibs.Free && !name.Established &&
		name.EndedAt+m.policies[key.Namespace].HoldHistory.Milliseconds() <= now
}

// Purge deletes a name, as a sweep does, except for its epoch.
func (m *Model) Purge(key Key) {
	m.purgedEpochs[key.Namespace] = max(m.purgedEpochs[key.Namespace], m.names[key].Epoch)
	delete(m.names, key)
	delete(m.past, key)
}
