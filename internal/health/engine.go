package health

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// diagnoser is an optional interface of engines that know why a commit is not answered.
type diagnoser interface {
	Diagnose(ctx context.Context) dibs.Cause
}

// engine is an engine that a Monitor watches.
type engine struct {
	dibs.Store
	intervals intervals

	stop    context.CancelFunc
	ctx     context.Context // ends with the engine
	working sync.WaitGroup
	known   chan struct{} // closed once the state is known
	wake    chan struct{} // asks run for a probe
	know    func()        // closes known, once

	mu        sync.Mutex
	committed time.Time // the last successful commit
	failure   *failure  // nil while the engine works
	reporter  reporter
}

// failure is a failure of an engine.
type failure struct {
	cause       dibs.Cause
	err         error // of the engine
	since       time.Time
	unreachable bool // it does not answer at all
}

// preventsCommits reports whether a commit is useless: it would only end in an unknown outcome,
// after a long wait.
func (f *failure) preventsCommits() bool { return f.unreachable || f.cause == dibs.CauseStandby }

func newEngine(name string, store dibs.Store, log *slog.Logger, intervals intervals) *engine {
	ctx, stop := context.WithCancel(context.Background())
	known := make(chan struct{})
	return &engine{
		Store: store, intervals: intervals, ctx: ctx, stop: stop,
		known: known, know: sync.OnceFunc(func() { close(known) }), wake: make(chan struct{}, 1),
		reporter: newReporter(name, log, intervals.remind),
	}
}

func (e *engine) state() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{Store: e.reporter.store, Reads: true, Writes: true}
	if f := e.failure; f != nil {
		s.Reads, s.Writes, s.Cause, s.Since = !f.unreachable, false, f.cause, f.since
	}
	return s
}

// probeNow asks run for a probe.
func (e *engine) probeNow() {
	select {
	case e.wake <- struct{}{}:
	default: // it is asked already
	}
}

// refusal returns the error of a call that is useless to make, or nil.
func (e *engine) refusal(write bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.failure
	if f == nil || !f.unreachable && (!write || !f.preventsCommits()) {
		return nil
	}
	e.reporter.failures++
	return reported{dibs.Unavailable(f.err).Because(f.cause)}
}

// noteSuccess notes a successful commit.
func (e *engine) noteSuccess() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.committed = time.Now()
	if e.failure != nil {
		e.reporter.over(e.failure)
		e.failure = nil
	}
	e.know()
}

// noteAnswer notes that the engine answers, whether or not it can be written to.
func (e *engine) noteAnswer() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failure != nil {
		e.failure.unreachable = false
	}
}

// noteFailure notes a failure, and how many calls it failed: none for a probe.
func (e *engine) noteFailure(err error, cause dibs.Cause, unreachable bool, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	begins := e.failure == nil
	if begins {
		e.failure = &failure{since: time.Now()}
	}
	f := e.failure
	f.cause, f.err, f.unreachable = cause, err, unreachable
	e.reporter.failures += calls
	e.reporter.failing(f, begins)
	e.know()
}

// noteRead notes the outcome of a call that only reads. Without an answer the engine is
// unreachable. Any other error may be about this call alone: a probe finds out.
func (e *engine) noteRead(ctx context.Context, err error) error {
	cause := CauseOf(err)
	if cause == "" || ctx.Err() != nil {
		return err
	}
	e.probeNow()
	if cause != dibs.CauseNoAnswer {
		return err
	}
	e.noteFailure(plain(err), cause, true, 1)
	return reported{err}
}

// noteCommit notes the outcome of a commit. An error without a cause may be about this commit
// alone: a probe finds out.
func (e *engine) noteCommit(outcomes []dibs.Outcome, err error) error {
	if err == nil {
		if slices.Contains(outcomes, dibs.Committed) {
			e.noteSuccess()
		}
		return nil
	}
	if errors.Is(err, dibs.ErrClosed) {
		return err
	}
	defer e.probeNow()
	cause := CauseOf(err)
	if cause == "" {
		return err
	}
	e.noteFailure(plain(err), cause, cause == dibs.CauseNoAnswer, 1)
	return reported{err}
}

// CauseOf returns the cause in an engine's error; empty if it has none.
func CauseOf(err error) dibs.Cause {
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return e.Cause
	}
	return ""
}

// plain returns what an engine's error wraps, without the code and advice for callers.
func plain(err error) error {
	if e, ok := errors.AsType[*dibs.Error](err); ok && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return err
}
