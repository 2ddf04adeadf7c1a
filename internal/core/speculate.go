package core

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// A decision that rests on an estimated time must be committed from so long before it
// on, and within so long after it. A wrong estimate then makes it stale, not wrong.
const (
	guessEarly = 100 * time.Millisecond
	guessLate  = 2 * time.Second
)

// speculator decides batches without a Load, on guesses: a name that somebody wants is
// nearly always absent, and a hold about to be confirmed was nearly always written
// here a moment ago. Whether that is so, Commit finds out, since everything that a
// decision read is checked there. A refusal, a replay or a dry run commits nothing, so
// nothing would check it: it takes a Load, and its batch with it. A nil speculator
// never guesses.
type speculator struct {
	clock dibs.Clock

	mu     sync.Mutex
	recent recent
	rate   guessRate
}

// newSpeculator returns nil for an engine that cannot tell its time without a Load.
func newSpeculator(store dibs.Store) *speculator {
	if clock, ok := unobserved(store).(dibs.Clock); ok {
		return &speculator{clock: clock}
	}
	return nil
}

// decide decides the requests on guesses. It fails if one of them asks for anything
// that is neither remembered nor expected to be absent, or changes nothing.
func (s *speculator) decide(requests []*rules.Request) (*rules.Batch, bool) {
	if s == nil {
		return nil, false
	}
	now, ok := s.clock.Now()
	if !ok { // the engine may be another one than before
		s.failed()
		return nil, false
	}
	s.age()
	state := rules.GuessBatch(requests, now, dibs.Window{From: now.Add(-guessEarly), Before: now.Add(guessLate)}, s.recall)
	if !state.Complete() || !s.try() {
		return nil, false
	}
	for _, r := range requests {
		if r.Decide(state); !state.Complete() || !r.Changes() {
			return nil, false
		}
	}
	return state, true
}

// age forgets what is too old to guess by.
func (s *speculator) age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent.age(time.Now())
}

func (s *speculator) recall(key rules.Key) dibs.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recent.get(key)
}

// try reports whether guessing is worth it this time.
func (s *speculator) try() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate.try()
}

// loaded remembers what a Load brought.
func (s *speculator) loaded(state *rules.Batch) {
	if s == nil {
		return
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range state.Records() {
		if r != nil {
			s.recent.put(r, now)
		}
	}
}

// committed remembers what became of groups, and whether it was right to guess.
func (s *speculator) committed(guessed bool, groups []dibs.Group, outcomes []dibs.Outcome) {
	if s == nil {
		return
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, g := range groups {
		if guessed && outcomes[i] != dibs.Busy && outcomes[i] != dibs.TooLarge {
			s.rate.note(outcomes[i] == dibs.Committed)
		}
		switch outcomes[i] {
		case dibs.Committed:
			s.wrote(g, now)
		case dibs.Stale:
			for _, read := range g.Reads {
				s.recent.forget(rules.KeyOf(read.Ref))
			}
		case dibs.Busy, dibs.TooLarge: // nothing was found out
		}
	}
}

func (s *speculator) wrote(g dibs.Group, now time.Time) {
	for _, w := range g.Writes {
		if w.Delete {
			s.recent.forget(rules.KeyOf(w.Record.Ref()))
		} else {
			s.recent.put(w.Record, now)
		}
	}
}

// failed forgets everything: an engine that failed may come back as one that has lost
// its last commits.
func (s *speculator) failed() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = recent{}
}
