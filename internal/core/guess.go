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

	mu      sync.Mutex
	records recordCache
	rate    guessRate
}

// newGuesser returns nil for an engine that cannot tell its time without a Load.
func newGuesser(store dibs.Store) *guesser {
	if clock, ok := unobserved(store).(dibs.Clock); ok {
		return &guesser{clock: clock, records: newRecordCache()}
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
		g.failed()
		return nil, false
	}
	g.expire()
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

func (g *guesser) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.records.expire(time.Now())
}

func (g *guesser) recall(key rules.Key) dibs.Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.records.get(key)
}

func (g *guesser) try() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rate.try()
}

// loaded remembers the records of a Load.
func (g *guesser) loaded(state *rules.Batch) {
	if g == nil {
		return
	}
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for r := range state.Records() {
		if r != nil {
			g.records.put(r, now)
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
					g.records.forget(rules.KeyOf(w.Record.Ref()))
				} else {
					g.records.put(w.Record, now)
				}
			}
		case dibs.Stale:
			for _, read := range group.Reads {
				g.records.forget(rules.KeyOf(read.Ref))
			}
		case dibs.Busy, dibs.TooLarge: // the engine did not check the records
		}
	}
}

// failed forgets all records: an engine that failed may have lost its last commits when it
// returns.
func (g *guesser) failed() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.records = newRecordCache()
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

// note counts a guess.
func (g *guessRate) note(right bool) {
	g.wrong -= g.wrong / guessSpan
	if !right {
		g.wrong += 1.0 / guessSpan
	}
}

const (
	// recordCacheSize is the number of records in a generation of the cache. It has two.
	recordCacheSize = 4096
	// recordCacheAge ends a generation that is not full. An engine may lose commits, for
	// example in a failover, and use their revisions again, so the cache keeps no record for
	// long.
	recordCacheAge = 30 * time.Second
)

// recordCache remembers records that were recently loaded or committed. A record may be out
// of date: Commit checks the revision that a decision rests on.
type recordCache struct {
	records generation.Map[rules.Key, dibs.Record]
}

func newRecordCache() recordCache {
	return recordCache{generation.Map[rules.Key, dibs.Record]{Size: recordCacheSize, MaxAge: recordCacheAge}}
}

// get returns the remembered record, or nil.
func (c *recordCache) get(key rules.Key) dibs.Record {
	r, _ := c.records.Get(key)
	return r
}

// put remembers a record, unless the cache has a later revision of it.
func (c *recordCache) put(r dibs.Record, now time.Time) {
	key := rules.KeyOf(r.Ref())
	switch known := c.get(key); {
	case known != nil && known.Revision() > r.Revision():
	case cacheable(r):
		c.records.PutAt(key, r, now)
	default:
		c.forget(key)
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

// expire drops records that are too old to guess by.
func (c *recordCache) expire(now time.Time) { c.records.Expire(now) }

func (c *recordCache) forget(key rules.Key) { c.records.Delete(key) }
