package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

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
