package core

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/rules"
)

// A decision on an estimated time must be committed between guessEarly before that time and
// guessLate after it. A wrong estimate then makes the commit stale, not wrong.
const (
	guessEarly = 100 * time.Millisecond
	guessLate  = 2 * time.Second
)

// guesser decides batches without a Load, on guesses: a name to be reserved is nearly always
// absent, and a hold to be confirmed was nearly always written by this process a moment ago.
// Commit finds out whether a guess was right, since it checks every record that a decision
// read. A refusal, a replay and a dry run commit nothing, so nothing would check the guess:
// their batch is decided on a Load. A nil guesser never guesses.
type guesser struct {
	clock dibs.Clock

	mu sync.Mutex
	// records are those that were recently loaded or committed. They may be out of date: Commit
	// checks the revision that a decision rests on.
	records generation.Map[rules.Key, dibs.Record]
	rate    guessRate
}

// newGuesser returns nil for an engine that cannot tell its time without a Load.
func newGuesser(store dibs.Store) *guesser {
	if clock, ok := unobserved(store).(dibs.Clock); ok {
		g := &guesser{clock: clock}
		g.forgetAll()
		return g
	}
	return nil
}

// decide decides the requests on guesses. It fails if a request reads a record that is neither
// remembered nor expected to be absent, or if a request changes nothing.
func (g *guesser) decide(requests []*rules.Request) (*rules.Batch, bool) {
	if g == nil {
		return nil, false
	}
	now, ok := g.clock.Now()
	if !ok { // the connection was lost, and the next one may lead to another server
		g.forgetAll()
		return nil, false
	}
	g.mu.Lock()
	g.records.Expire(time.Now())
	g.mu.Unlock()
	state := rules.GuessBatch(requests, now, dibs.Window{From: now.Add(-guessEarly), Before: now.Add(guessLate)}, g.recall)
	if !state.Complete() || !g.try() {
		return nil, false
	}
	for _, r := range requests {
		if r.Decide(state); !state.Complete() || !r.Changes() {
			return nil, false
		}
	}
	return state, true
}

func (g *guesser) recall(key rules.Key) dibs.Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, _ := g.records.Get(key)
	return r
}

func (g *guesser) try() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rate.try()
}

func (g *guesser) loaded(state *rules.Batch) {
	if g == nil {
		return
	}
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for r := range state.Records() {
		if r != nil {
			g.put(r, now)
		}
	}
}

// committed remembers the records of committed groups, forgets those of stale groups, and
// notes whether guesses were right.
func (g *guesser) committed(guessed bool, groups []dibs.Group, outcomes []dibs.Outcome) {
	if g == nil {
		return
	}
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, group := range groups {
		if guessed && outcomes[i] != dibs.Busy && outcomes[i] != dibs.TooLarge {
			g.rate.note(outcomes[i] == dibs.Committed)
		}
		switch outcomes[i] {
		case dibs.Committed:
			for _, w := range group.Writes {
				if w.Delete {
					g.records.Delete(rules.KeyOf(w.Record.Ref()))
				} else {
					g.put(w.Record, now)
				}
			}
		case dibs.Stale:
			for _, read := range group.Reads {
				g.records.Delete(rules.KeyOf(read.Ref))
			}
		case dibs.Busy, dibs.TooLarge: // the engine did not check the records
		}
	}
}

// forgetAll forgets all records: an engine that failed may have lost its last commits when it
// returns.
func (g *guesser) forgetAll() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.records = generation.Map[rules.Key, dibs.Record]{Size: memorySize, MaxAge: memoryAge}
}

const (
	// memorySize is the number of records in a generation of the memory. It has two.
	memorySize = 4096
	// memoryAge ends a generation that is not full. An engine may lose commits, for example in
	// a failover, and use their revisions again, so no record is kept for long.
	memoryAge = 30 * time.Second
)

// put remembers a record, unless a later revision of it is remembered.
func (g *guesser) put(r dibs.Record, now time.Time) {
	key := rules.KeyOf(r.Ref())
	switch known, _ := g.records.Get(key); {
	case known != nil && known.Revision() > r.Revision():
	case cacheable(r):
		g.records.PutAt(key, r, now)
	default:
		g.records.Delete(key)
	}
}

// cacheable reports whether a record is small, as nearly all are, and never starts again at
// revision 1. Documents that are swept do, and so do forgotten entities.
func cacheable(r dibs.Record) bool {
	switch r := r.(type) {
	case *dibs.NameRecord:
		return len(r.Meta) <= 4
	case *dibs.EntityRecord:
		return len(r.Active) <= 32 && !r.Entity.IsZero()
	case *dibs.Document:
		return len(r.Data) <= 4096 && r.Due == 0
	default:
		return false
	}
}

const (
	guessSpan = 16 // about how many of the last guesses count
	guessPass = 32 // while most guesses are wrong, this many batches are loaded for each guess
)

// guessRate tells whether guessing pays. Where most names are taken, each guess costs a commit
// that fails.
type guessRate struct {
	wrong  float64 // the moving average of wrong guesses
	passed int     // batches since the last guess
}

// try reports whether to guess this time.
func (g *guessRate) try() bool {
	if g.passed++; g.wrong > 0.5 && g.passed <= guessPass {
		return false
	}
	g.passed = 0
	return true
}

func (g *guessRate) note(right bool) {
	g.wrong -= g.wrong / guessSpan
	if !right {
		g.wrong += 1.0 / guessSpan
	}
}
