package core

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Apply decides commands and commits what they change.
func (c *core) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	start := time.Now()
	results, err := c.apply(ctx, req)
	observeCommand(&c.cfg.Observer, req, start, err)
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (c *core) apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, *dibs.Error) {
	var now dibs.Instant
	r, err := c.rules().Apply(req)
	if err == nil {
		if err = c.submit(ctx, newCall(r, false)); err == nil {
			return r.Result()
		}
		if err.Code == dibs.CodeUnavailable || err.Code == dibs.CodeOutcomeUnknown {
			return nil, err // not a refusal, and the writer may still use the request
		}
		now = r.DecidedAt()
	}
	if !req.DryRun {
		c.conflicts.note(err, now)
	}
	c.suggestFor(ctx, err)
	return nil, err
}

// submit decides a call and commits what it changes.
func (c *core) submit(ctx context.Context, call *call) *dibs.Error {
	if err := c.send(ctx, call); err != nil {
		return err
	}
	return c.await(ctx, call)
}

// send hands a call to the writer. In a transaction of the caller, send decides and commits
// the call itself.
func (c *core) send(ctx context.Context, sent *call) *dibs.Error {
	if !c.IsBound() {
		return c.writer.enqueue(ctx, sent)
	}
	if _, err := c.tx.process(ctx, []*call{sent}); errors.Is(err, errContended) {
		sent.err = dibs.Unavailable(dibs.ErrRetryTx)
	}
	return nil
}

// await returns the answer to a call that was sent. If the answer rests on a past end, await
// waits until the end is final and sends the request again.
func (c *core) await(ctx context.Context, call *call) *dibs.Error {
	for range maxRereads {
		var err *dibs.Error
		if c.IsBound() {
			err = call.err // send has answered the call
		} else {
			err = c.writer.wait(ctx, call)
		}
		if err != errEndOpen {
			return err
		}
		open := c.ends.open(call.Request, call.awaited)
		if err := c.ends.await(ctx, open); err != nil {
			return err
		}
		call = newCall(call.Request, call.noWait)
		call.awaited = open
		if err := c.send(ctx, call); err != nil {
			return err
		}
	}
	return dibs.Unavailable(errContended)
}

// perform decides a job of the registry itself and commits what it changes. With noWait it
// fails if another transaction blocks the job.
func perform[T any](ctx context.Context, c *core, job *rules.Job[T], noWait bool) (outcome T, err *dibs.Error) {
	if err := c.submit(ctx, newCall(job.Request, noWait)); err != nil {
		return outcome, err
	}
	return job.Result()
}

// sendAll hands jobs to the writer, which commits many of them together. Each of the calls has
// to be awaited. With noWait a job fails if another transaction blocks it.
func sendAll[T any](ctx context.Context, c *core, jobs []*rules.Job[T], noWait bool) (calls []*call, err *dibs.Error) {
	for _, job := range jobs {
		call := newCall(job.Request, noWait)
		if err := c.send(ctx, call); err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

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

	pause      time.Duration // about how long it waited when it was blocked last; 0 if it never was
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
