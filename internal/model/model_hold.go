package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

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

// Spent is a token that had a hold on a name before the last one. The model remembers all of
// them: the tests use fewer tokens than a registry remembers at least.
type Spent struct {
	Token     string
	Principal string
	Code      dibs.Code // how the hold ended
	Until     int64
	// Whose lists the entities that had or held the name from that hold to the next. It is
	// unknown for a token that came with the name from another key.
	Whose   []dibs.Entity
	Unknown bool
}

// spent returns the spent tokens of a name's next hold, if the last one ended at ended.
func (m *Model) spent(key Key, ended int64) []Spent {
	name := m.names[key]
	all := slices.Clone(name.Spent)
	if name.Token != "" {
		all = append(all, Spent{
			Token: name.Token, Principal: name.Principal, Code: over(name).Code,
			Until: ended + m.policies[key.Namespace].HoldHistory.Milliseconds(), Whose: m.whose(key),
		})
	}
	return slices.DeleteFunc(all, func(s Spent) bool { return s.Until <= m.now })
}

// whose returns the entities that had or held a name since its last hold began.
func (m *Model) whose(key Key) (all []dibs.Entity) {
	began := m.began(key)
	for _, moment := range m.past[key] {
		if moment.Epoch >= began {
			all = append(all, moment.Entity)
		}
	}
	return all
}

// began returns the epoch in which the current hold on a name began.
func (m *Model) began(key Key) (epoch uint64) {
	for _, moment := range m.past[key] {
		if moment.Fresh {
			epoch = moment.Epoch
		}
	}
	return epoch
}

// moved returns tokens as another key has them after a move.
func moved(tokens []Spent) []Spent {
	tokens = slices.Clone(tokens)
	for i := range tokens {
		tokens[i].Unknown = true
	}
	return tokens
}

// late refuses a token whose hold on a name was followed by another one.
func (m *Model) late(p dibs.Principal, key Key, token string) *Refusal {
	for _, s := range m.names[key].Spent {
		if s.Token == token && (s.Principal == p.Name || p.Has(dibs.ActForOthers)) && s.Until > m.now {
			return refuse(s.Code)
		}
	}
	return nil
}
