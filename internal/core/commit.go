package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/rules"
)

// maxAttempts is how often a batch is decided before its calls fail with errContended.
const maxAttempts = 50

var errContended = errors.New("other writers changed or held the same records on every attempt")

// committer decides calls on a store and commits what they change.
type committer struct {
	store    dibs.Store
	guesses  *guesser
	ends     *pastEnds
	blocked  *blockedCalls   // nil if no call may wait
	activity *activityCounts // counts what was committed
	batches  atomic.Uint64   // that were decided so far
}

// process decides calls and commits what they change, until none is stale. It answers each
// call or adds it to the blocked calls. Calls that are decided again keep their order. It returns the error
// of the engine, if there was one.
func (c *committer) process(ctx context.Context, calls []*call) (commits int, err error) {
	desk := desks.Get().(*desk)
	defer desks.Put(desk)
	return c.processOn(ctx, desk, calls, false)
}

// processOn is process on a desk, on which the calls may have been decided already.
func (c *committer) processOn(ctx context.Context, desk *desk, calls []*call, decided bool) (commits int, err error) {
	pause := shortestWait // before calls that stay although they are blocked
	for attempt := range maxAttempts {
		if !decided || attempt > 0 {
			if err := c.decide(ctx, desk, calls, attempt == 0); err != nil {
				fail(calls, err)
				return commits, err
			}
		}
		groups, members, unchanged := desk.state.Groups(desk.requests)
		for _, i := range unchanged {
			c.answerUnchanged(calls[i])
		}
		if len(groups) == 0 {
			return commits, nil
		}
		commits++
		outcomes, err := c.commit(ctx, &desk.state, groups)
		if err != nil {
			for _, m := range members {
				fail(pick(calls, m), err)
			}
			return commits, err
		}
		var (
			again  []int
			held   int // of those, the blocked ones
			large  [][]*call
			failed error
		)
		for i, m := range members {
			switch outcomes[i] {
			case dibs.Committed:
				again = answerCommitted(calls, m, again)
			case dibs.Busy:
				stay := c.block(calls, m)
				again, held = append(again, stay...), held+len(stay)
			case dibs.TooLarge:
				large = append(large, pick(calls, m))
			default:
				again = append(again, m...)
			}
		}
		for _, members := range large {
			more, err := c.processHalves(ctx, members)
			commits += more
			failed = errors.Join(failed, err)
		}
		if len(again) == 0 {
			return commits, failed
		}
		slices.Sort(again)
		if calls = pick(calls, again); held == 0 {
			continue
		}
		if !c.blocked.sleep(pause) {
			break
		}
		pause = min(2*pause, longestHeld)
	}
	err = dibs.Unavailable(errContended)
	fail(calls, err)
	return commits, err
}

// desk is what deciding requests takes. Its memory is used again and again.
type desk struct {
	state    rules.Batch
	requests []*rules.Request
}

var desks = sync.Pool{New: func() any { return new(desk) }}

// pick returns the calls with these indexes.
func pick(calls []*call, indexes []int) []*call {
	picked := make([]*call, len(indexes))
	for i, index := range indexes {
		picked[i] = calls[index]
	}
	return picked
}

// answerUnchanged answers a call that changes nothing. If the call rests on a past end that is
// not final, its caller has to wait first.
func (c *committer) answerUnchanged(call *call) {
	if len(c.ends.open(call.Request, call.awaited)) > 0 {
		call.answer(errEndOpen)
		return
	}
	_, err := call.Result()
	call.answer(err)
}

// answerCommitted answers the calls of a committed group. It appends the indexes of those that have to be
// decided again.
func answerCommitted(calls []*call, members, again []int) []int {
	for _, i := range members {
		call := calls[i]
		if !call.Changes() {
			again = append(again, i)
			continue
		}
		_, err := call.Result()
		call.answer(err)
	}
	return again
}

// block makes the calls of a group wait for the transaction that holds one of their records. It returns the
// indexes of those that keep their place: they are decided again here.
func (c *committer) block(calls []*call, members []int) (stay []int) {
	for _, i := range members {
		call := calls[i]
		call.guessedWrong = true
		switch {
		case call.inOrder:
			stay = append(stay, i)
		case call.noWait || c.blocked == nil:
			call.answer(dibs.Unavailable(errHeld))
		default:
			c.blocked.add(call)
		}
	}
	return stay
}

var errTooLarge = &dibs.Error{
	Code:    dibs.CodeTooLarge,
	Message: "the command changes more records than the engine can commit at once: split it, or raise the engine's limits",
}

// processHalves processes the two halves of a group that was too large for the engine. A
// single call cannot be split and fails.
func (c *committer) processHalves(ctx context.Context, calls []*call) (commits int, err error) {
	if len(calls) == 1 {
		fail(calls, errTooLarge)
		return 0, nil
	}
	half := len(calls) / 2
	for _, part := range [][]*call{calls[:half], calls[half:]} {
		more, failed := c.process(ctx, slices.Clone(part))
		commits += more
		err = errors.Join(err, failed)
	}
	return commits, err
}

// decide decides the calls: on a guess if that is allowed and possible, else on a Load.
func (c *committer) decide(ctx context.Context, desk *desk, calls []*call, guess bool) error {
	if c.begin(desk, calls); guess && c.guess(desk, calls) {
		return nil
	}
	if err := desk.decide(ctx, c.store); err != nil {
		c.guesses.forgetAll()
		if e := asError(err); e.Code == dibs.CodeOutcomeUnknown {
			err = dibs.Unavailable(err) // a read changes nothing, whatever went wrong
		}
		return err
	}
	c.guesses.loaded(&desk.state)
	return nil
}

// begin puts the calls on a desk, as a new batch.
func (c *committer) begin(desk *desk, calls []*call) {
	desk.requests = desk.requests[:0]
	batch := c.batches.Add(1)
	for _, call := range calls {
		call.batch = batch
		desk.requests = append(desk.requests, call.Request)
	}
}

// guess decides the calls on guesses, if that is possible.
func (c *committer) guess(desk *desk, calls []*call) bool {
	return !slices.ContainsFunc(calls, func(c *call) bool { return c.guessedWrong }) && c.guesses.decide(desk)
}

// commit commits groups, tells the guesser of the outcomes, and counts what was committed.
func (c *committer) commit(ctx context.Context, state *rules.Batch, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes, err := c.store.Commit(ctx, groups)
	if err == nil && len(outcomes) != len(groups) {
		err = wrongOutcomes(outcomes, groups)
	}
	if err != nil {
		c.guesses.forgetAll()
		return nil, err
	}
	c.guesses.committed(state.Guessed(), groups, outcomes)
	c.activity.noteCommit(state.Now(), groups, outcomes)
	return outcomes, nil
}

func wrongOutcomes(outcomes []dibs.Outcome, groups []dibs.Group) error {
	return dibs.OutcomeUnknown(fmt.Errorf("the engine returned %d outcomes for %d groups", len(outcomes), len(groups)))
}

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
// their batch is decided on a Load, unless they rest on another call of the batch and are decided
// again after its commit. A nil guesser never guesses.
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
// remembered nor expected to be absent, or if a request changes nothing and its answer would rest on
// the guess.
func (g *guesser) decide(desk *desk) bool {
	if g == nil {
		return false
	}
	now, ok := g.clock.Now()
	if !ok { // the connection was lost, and the next one may lead to another server
		g.forgetAll()
		return false
	}
	g.mu.Lock()
	g.records.Expire(time.Now())
	g.mu.Unlock()
	state := &desk.state
	state.Guess(desk.requests, now, dibs.Window{From: now.Add(-guessEarly), Before: now.Add(guessLate)}, g.recall)
	if !state.Complete() || !g.try() {
		return false
	}
	for _, r := range desk.requests {
		if r.Decide(state); !state.Complete() || r.RestsOnLoadAlone() {
			return false
		}
	}
	return true
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
		g.put(r, now)
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
				// The names of a large batch were imported, and no caller is about to confirm them: they would
				// only drive other records out.
				if w.Delete || len(groups) > memorySize/8 && len(group.Events) == 1 {
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
