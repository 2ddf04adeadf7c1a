package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// call is a request on its way through the writer. The writer takes it into a batch, or its
// caller withdraws it, whichever comes first. A call that a transaction of another process
// blocks waits again, in [blockedCalls].
type call struct {
	*rules.Request
	ctx   context.Context // of its caller, for traces; nil where there are none
	state atomic.Uint32   // callQueued, callTaken or callWithdrawn
	done  chan struct{}   // closed with the answer
	err   *dibs.Error     // the answer

	noWait       bool            // it does not wait for a transaction that blocks it
	guessedWrong bool            // it was blocked: its records are loaded from now on
	awaited      []rules.PastEnd // the ends that were waited for before the last decision

	// While it is blocked: how long it waits this time, and when it is tried again.
	pause      time.Duration
	again      time.Time
	wasBlocked atomic.Bool
}

const (
	callQueued    uint32 = iota // it waits, in the queue or blocked
	callTaken                   // it is in a batch
	callWithdrawn               // its caller has left
)

func newCall(r *rules.Request) *call { return &call{Request: r, done: make(chan struct{})} }

// answer ends the call.
func (c *call) answer(err *dibs.Error) {
	c.err = err
	close(c.done)
}

// fail answers calls with an error of the engine.
func fail(calls []*call, err error) {
	for _, c := range calls {
		e := *asError(err) // each caller's own
		c.answer(&e)
	}
}

func requestsOf(calls []*call) []*rules.Request {
	requests := make([]*rules.Request, len(calls))
	for i, c := range calls {
		requests[i] = c.Request
	}
	return requests
}
