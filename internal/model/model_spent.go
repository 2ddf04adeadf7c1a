package model

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Spent is a token that had a hold on a name before its last one. The model remembers all of
// them: the pools of the tests are smaller than what a registry remembers at least.
type Spent struct {
	Token     string
	Principal string
	Code      dibs.Code // how the hold ended
	Until     int64
	// Whose says which entities had to do with the name from that hold to the next. Of a
	// token that came with the name from another key that is not known.
	Whose   []dibs.Entity
	Unknown bool
}

// spent returns the tokens that the next hold on a name has before it, if the last one ended then.
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

// whose returns the entities that had to do with a name since its last hold began.
func (m *Model) whose(key Key) (all []dibs.Entity) {
	began := m.began(key)
	for _, moment := range m.past[key] {
		if moment.Epoch >= began {
			all = append(all, moment.Entity)
		}
	}
	return all
}

// began returns the epoch in which the present hold on a name began.
func (m *Model) began(key Key) (epoch uint64) {
	for _, moment := range m.past[key] {
		if moment.Fresh {
			epoch = moment.Epoch
		}
	}
	return epoch
}

// moved returns tokens as another key has them from now on.
func moved(tokens []Spent) []Spent {
	tokens = slices.Clone(tokens)
	for i := range tokens {
		tokens[i].Unknown = true
	}
	return tokens
}

// late refuses a token that had a hold on a name before its last one.
func (m *Model) late(p dibs.Principal, key Key, token string) *Refusal {
	for _, s := range m.names[key].Spent {
		if s.Token == token && (s.Principal == p.Name || p.Has(dibs.ActForOthers)) && s.Until > m.now {
			return refuse(s.Code)
		}
	}
	return nil
}
