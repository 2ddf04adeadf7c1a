// Package model is a second, naive implementation of docs/rules.md: a registry made of a
// few maps and plain chains of ifs. It shares no rule with package dibs, only its
// types, so that a mistake in either shows as a difference between the two.
//
// It is slow on purpose. Every list of commands works on a copy of everything, and the
// clock is applied to all names before each read.
package model

import (
	"maps"

	"github.com/calldibs/dibs"
)

// Key identifies a name.
type Key struct{ Namespace, Canonical string }

// Owner identifies an entity within its scope.
type Owner struct {
	Scope  string
	Entity dibs.Entity
}

// Name is the state of one key. A key without a Name was never taken, or was
// purged.
type Name struct {
	Value  string
	State  dibs.State
	Status dibs.Status
	Epoch  uint64

	// The last hold. Token is empty if the current epoch began without one.
	Token     string
	Principal string
	Intended  dibs.Entity
	Began     int64
	ExpiresAt int64
	Confirmed bool // the hold of this epoch was confirmed
	Spent     []Spent

	Owner   dibs.Entity // the owner, or the last one
	Line    int         // links an alias to its successor if an entity has many names
	EndedAt int64
	// Until ends a quarantine or an alias; on a hold it is the end of the
	// quarantine that the name returns to.
	Until       int64
	Established bool // was confirmed at some time, so is never purged
	Forgotten   bool // what it was is erased
}

// Entity is the state of one entity. An entity without it never had a name.
type Entity struct {
	Archived bool
	Deleted  bool
	Version  uint64
}

// Model is the whole registry.
type Model struct {
	policies map[string]dibs.Policy
	scopes   map[string]string // of each namespace
	known    []dibs.Entity
	ids      map[dibs.ID]Key

	now          int64
	names        map[Key]Name
	entities     map[Owner]Entity
	purgedEpochs map[string]uint64 // the highest purged epoch of a namespace
	past         map[Key][]Moment
	erasedAt     map[Key]int64 // the time of a name's last erasure: nothing before it is known
	lines        int
	touched      map[Owner]bool // entities that the current command has changed

	// After the rules of a namespace have changed: the key that the name of a key moved
	// to, and the keys that the name of a key had before.
	moved map[Key]Key
	from  map[Key][]Key
}

// New returns an empty model. The policies must have all their durations set:
// the model has no defaults. Scopes has the scope of every namespace, known every
// entity that a verdict may name.
func New(policies map[string]dibs.Policy, scopes map[string]string, known []dibs.Entity) *Model {
	return &Model{
		policies:     policies,
		scopes:       scopes,
		known:        known,
		ids:          make(map[dibs.ID]Key),
		names:        make(map[Key]Name),
		entities:     make(map[Owner]Entity),
		purgedEpochs: make(map[string]uint64),
		past:         make(map[Key][]Moment),
		erasedAt:     make(map[Key]int64),
		moved:        make(map[Key]Key),
		from:         make(map[Key][]Key),
	}
}

// copy returns an independent copy of the model.
func (m *Model) copy() *Model {
	c := *m
	c.ids = maps.Clone(m.ids)
	c.names = maps.Clone(m.names)
	c.entities = maps.Clone(m.entities)
	c.purgedEpochs = maps.Clone(m.purgedEpochs)
	c.moved = maps.Clone(m.moved)
	c.erasedAt = maps.Clone(m.erasedAt)
	c.from = maps.Clone(m.from)
	c.past = make(map[Key][]Moment, len(m.past))
	for key, moments := range m.past {
		c.past[key] = append([]Moment(nil), moments...)
	}
	return &c
}

// Refusal is why a command was refused.
type Refusal struct {
	Code   dibs.Code
	Reason dibs.Reason // with NAME_TAKEN
	// Parts are the refusals of a command with several parts, by their index.
	Parts map[int]*Refusal
}

func refuse(code dibs.Code) *Refusal { return &Refusal{Code: code} }

// first combines the refusals of several parts: its code is that of the first part.
func first(parts map[int]*Refusal) *Refusal {
	for i := 0; ; i++ {
		if part, ok := parts[i]; ok {
			return &Refusal{Code: part.Code, Reason: part.Reason, Parts: parts}
		}
	}
}

// Result is the result of a command.
type Result struct {
	Replayed bool
	Keys     []Key  // of the names it was about
	Version  uint64 // of the entity, after a command on an entity's names
	Freed    []Key  // the names that a Delete or Decommission freed
	Locked   []Key  // the names that it put into quarantine
}

// Apply decides a list of commands at a point in time. Either all of them take effect or none.
func (m *Model) Apply(principal dibs.Principal, now int64, commands []dibs.Command, dryRun bool) ([]Result, *Refusal) {
	m.advance(now)
	parts := make(map[int]*Refusal)
	for i, command := range commands {
		if refused := m.malformed(principal, command); refused != nil {
			parts[i] = refused
		}
	}
	if len(parts) > 0 {
		return nil, whole(parts, len(commands))
	}

	trial := m.copy()
	var results []Result
	for i, command := range commands {
		before := trial.copy()
		trial.touched = make(map[Owner]bool)
		result, refused := trial.one(principal, command)
		if refused != nil {
			parts[i] = refused
			trial = before
			continue
		}
		results = append(results, result)
	}
	if len(parts) > 0 {
		return nil, whole(parts, len(commands))
	}
	if !dryRun {
		*m = *trial
	}
	return results, nil
}

// whole returns the refusal of a list: that of its only command, or all of them with the code
// of the first.
func whole(parts map[int]*Refusal, commands int) *Refusal {
	if commands == 1 {
		return parts[0]
	}
	return first(parts)
}

func (m *Model) one(p dibs.Principal, command dibs.Command) (Result, *Refusal) {
	switch c := command.(type) {
	case dibs.Reserve:
		return m.reserve(p, c)
	case dibs.ReserveAll:
		return m.reserveAll(p, c)
	case dibs.ReserveFirst:
		return m.reserveFirst(p, c)
	case dibs.Extend:
		return m.extend(p, c)
	case dibs.Confirm:
		return m.confirm(p, c)
	case dibs.Release:
		return m.release(p, c)
	case dibs.Claim:
		return m.claim(p, c)
	case dibs.Import:
		return m.enter(p, c)
	case dibs.Rename:
		return m.rename(p, c)
	case dibs.Archive:
		return m.archive(c.Scope, c.Entity, true)
	case dibs.Restore:
		return m.archive(c.Scope, c.Entity, false)
	case dibs.Delete:
		return m.remove(c)
	case dibs.Decommission:
		return m.decommission(c)
	case dibs.Transfer:
		return m.transfer(c)
	case dibs.Swap:
		return m.swap(c)
	case dibs.Settle:
		return m.settle(c)
	}
	panic("model: unknown command")
}
