package core

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// call is a request on its way through the writer. Either the writer takes it into a batch or
// its caller withdraws it, whichever happens first. A call that a transaction of another
// process blocks waits again, in [blockedCalls].
type call struct {
	*rules.Request
	ctx   context.Context // of the caller, for traces; nil without traces
	state atomic.Uint32   // callQueued, callTaken or callWithdrawn
	done  chan struct{}   // closed with the answer
	err   *dibs.Error     // the answer

	noWait       bool            // it fails if another transaction blocks it
	guessedWrong bool            // it was blocked: its records are loaded from now on
	awaited      []rules.PastEnd // the ends that were awaited before the last decision

	// While the call is blocked: how long it waits this time, and until when.
	pause      time.Duration
	retryAt    time.Time
	wasBlocked atomic.Bool
}

const (
	callQueued    uint32 = iota // it waits, in the queue or blocked
	callTaken                   // it is in a batch
	callWithdrawn               // its caller has left
)

func newCall(r *rules.Request, noWait bool) *call {
	return &call{Request: r, noWait: noWait, done: make(chan struct{})}
}

// answer ends the call.
func (c *call) answer(err *dibs.Error) {
	c.err = err
	close(c.done)
}

// fail answers calls with an error of the engine.
func fail(calls []*call, err error) {
	for _, c := range calls {
		e := *asError(err) // each caller gets its own copy
		c.answer(&e)
	}
}

// asError returns the *dibs.Error in the tree of err. The error of a context means that the
// engine did nothing, and so does ErrRetryTx. After any other error that the engine did not
// classify, the outcome is unknown.
func asError(err error) *dibs.Error {
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, dibs.ErrRetryTx):
		return dibs.Unavailable(err)
	default:
		return dibs.OutcomeUnknown(err)
	}
}

func requestsOf(calls []*call) []*rules.Request {
	requests := make([]*rules.Request, len(calls))
	for i, c := range calls {
		requests[i] = c.Request
	}
	return requests
}
