package dibs

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// maxAttempts is how often a decision is taken again because another writer was
// faster.
const maxAttempts = 50

var errContended = errors.New("other writers were faster every time")

// committer decides requests on a store and commits what they change.
type committer struct {
	store   Store
	guesses *speculator
	ends    *ends
}

// process decides requests and commits what they change, again and again until
// none is stale. Each is answered as soon as it is settled, or told that it is busy
// and then left alone. It returns the error of the engine, if one ended it.
func (c *committer) process(ctx context.Context, requests []*request) (commits int, err error) {
	for attempt := range maxAttempts {
		l, err := c.decide(ctx, requests, attempt == 0)
		if err != nil {
			fail(requests, err)
			return commits, err
		}
		groups, settled := l.groups(requests)
		for _, r := range settled {
			if len(c.ends.open(r)) > 0 {
				r.answer(errEndOpen)
			} else {
				r.answer(r.err)
			}
		}
		if len(groups) == 0 {
			return commits, nil
		}
		commits++
		outcomes, err := c.commit(ctx, l, groups)
		requests = nil
		var large []*group
		for i, g := range groups {
			switch {
			case err != nil:
				fail(g.members, err)
			case outcomes[i] == Committed:
				for _, r := range g.members {
					if r.isRight() {
						r.answer(r.err)
					} else {
						requests = append(requests, r)
					}
				}
			case outcomes[i] == Busy:
				for _, r := range g.members {
					r.retried = true
					r.busy()
				}
			case outcomes[i] == TooLarge:
				large = append(large, g)
			default:
				requests = append(requests, g.members...)
			}
		}
		var failed error
		for _, g := range large {
			more, err := c.processHalves(ctx, g)
			commits += more
			failed = errors.Join(failed, err)
		}
		if err != nil || len(requests) == 0 {
			return commits, errors.Join(err, failed)
		}
	}
	err = Unavailable(errContended)
	fail(requests, err)
	return commits, err
}

var errTooLarge = &Error{
	Code:    CodeTooLarge,
	Message: "this changes more records at once than the engine can: name fewer in one command, or raise the engine's limits",
}

// processHalves processes the requests of a group that was too large for the engine, one
// half after the other. A request by itself cannot be made smaller.
func (c *committer) processHalves(ctx context.Context, g *group) (commits int, err error) {
	if len(g.members) == 1 {
		fail(g.members, errTooLarge)
		return 0, nil
	}
	half := len(g.members) / 2
	for _, part := range [][]*request{g.members[:half], g.members[half:]} {
		more, failed := c.process(ctx, slices.Clone(part))
		commits += more
		err = errors.Join(err, failed)
	}
	return commits, err
}

// decide decides the requests, on guesses if that may be and can be, else on what is
// loaded.
func (c *committer) decide(ctx context.Context, requests []*request, guess bool) (*ledger, error) {
	if guess {
		if l, ok := c.guesses.decide(requests); ok {
			return l, nil
		}
	}
	l, err := decideAll(ctx, c.store, requests)
	if err != nil {
		c.guesses.failed()
		if e := asError(err); e.Code == CodeOutcomeUnknown {
			err = Unavailable(err) // reading changes nothing, whatever went wrong
		}
		return nil, err
	}
	c.guesses.loaded(l)
	return l, nil
}

func (c *committer) commit(ctx context.Context, l *ledger, groups []*group) ([]Outcome, error) {
	plain := make([]Group, len(groups))
	for i, g := range groups {
		plain[i] = g.Group
	}
	outcomes, err := c.store.Commit(ctx, plain)
	if err == nil && len(outcomes) != len(groups) {
		err = OutcomeUnknown(fmt.Errorf("the engine gave %d outcomes for %d groups", len(outcomes), len(groups)))
	}
	if err != nil {
		c.guesses.failed()
		return nil, err
	}
	c.guesses.committed(l, groups, outcomes)
	return outcomes, nil
}

// fail answers requests with an error of the engine.
func fail(requests []*request, err error) {
	for _, r := range requests {
		e := *asError(err) // each caller's own
		r.answer(&e)
	}
}
