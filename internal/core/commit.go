package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// maxAttempts is how often a batch is decided before its calls fail with errContended.
const maxAttempts = 50

var errContended = errors.New("other writers changed the same records on every attempt")

// committer decides calls on a store and commits what they change.
type committer struct {
	store   dibs.Store
	guesses *guesser
	ends    *pastEnds
	blocked *blockedCalls // nil if no call may wait
}

// process decides calls and commits what they change, until none is stale. It answers each
// call or adds it to the blocked calls. It returns the error of the engine, if there was one.
func (c *committer) process(ctx context.Context, calls []*call) (commits int, err error) {
	for attempt := range maxAttempts {
		state, err := c.decide(ctx, calls, attempt == 0)
		if err != nil {
			fail(calls, err)
			return commits, err
		}
		groups, unchanged := state.Groups(requestsOf(calls))
		for _, i := range unchanged {
			c.answerUnchanged(calls[i])
		}
		if len(groups) == 0 {
			return commits, nil
		}
		commits++
		outcomes, err := c.commit(ctx, state, groups)
		if err != nil {
			for _, g := range groups {
				fail(members(calls, g), err)
			}
			return commits, err
		}
		var (
			again  []*call
			large  [][]*call
			failed error
		)
		for i, g := range groups {
			switch members := members(calls, g); outcomes[i] {
			case dibs.Committed:
				again = append(again, answerCommitted(members)...)
			case dibs.Busy:
				c.block(members)
			case dibs.TooLarge:
				large = append(large, members)
			default:
				again = append(again, members...)
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
		calls = again
	}
	err = dibs.Unavailable(errContended)
	fail(calls, err)
	return commits, err
}

func members(calls []*call, g *rules.Group) []*call {
	members := make([]*call, len(g.Members))
	for i, index := range g.Members {
		members[i] = calls[index]
	}
	return members
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

// answerCommitted answers the calls of a committed group. It returns the calls that have to
// be decided again.
func answerCommitted(members []*call) (again []*call) {
	for _, call := range members {
		if !call.Changes() {
			again = append(again, call)
			continue
		}
		_, err := call.Result()
		call.answer(err)
	}
	return again
}

// block makes calls wait for the transaction that holds one of their records.
func (c *committer) block(calls []*call) {
	for _, call := range calls {
		call.guessedWrong = true
		if call.noWait || c.blocked == nil {
			call.answer(dibs.Unavailable(errHeld))
		} else {
			c.blocked.add(call)
		}
	}
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
func (c *committer) decide(ctx context.Context, calls []*call, guess bool) (*rules.Batch, error) {
	if guess && !slices.ContainsFunc(calls, func(c *call) bool { return c.guessedWrong }) {
		if state, ok := c.guesses.decide(requestsOf(calls)); ok {
			return state, nil
		}
	}
	state, err := decideAll(ctx, c.store, requestsOf(calls))
	if err != nil {
		c.guesses.forgetAll()
		if e := asError(err); e.Code == dibs.CodeOutcomeUnknown {
			err = dibs.Unavailable(err) // a read changes nothing, whatever went wrong
		}
		return nil, err
	}
	c.guesses.loaded(state)
	return state, nil
}

// commit commits groups, and tells the guesser of the outcomes.
func (c *committer) commit(ctx context.Context, state *rules.Batch, groups []*rules.Group) ([]dibs.Outcome, error) {
	plain := make([]dibs.Group, len(groups))
	for i, g := range groups {
		plain[i] = g.Group
	}
	outcomes, err := c.store.Commit(ctx, plain)
	if err == nil && len(outcomes) != len(groups) {
		err = dibs.OutcomeUnknown(fmt.Errorf("the engine returned %d outcomes for %d groups", len(outcomes), len(groups)))
	}
	if err != nil {
		c.guesses.forgetAll()
		return nil, err
	}
	c.guesses.committed(state.Guessed(), plain, outcomes)
	return outcomes, nil
}
