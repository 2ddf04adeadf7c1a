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

// diagnoser is an optional interface of engines that can say why a commit is not answered.
type diagnoser interface {
	Diagnose(ctx context.Context) dibs.Cause
}

// engine is an engine that is watched.
type engine struct {
	dibs.Store
	pace Pace

	stop    context.CancelFunc
	ctx     context.Context // ends with the engine
	working sync.WaitGroup
	looked  chan struct{} // closed once it is known how the engine is
	wake    chan struct{} // makes keep look now

	mu        sync.Mutex
	committed time.Time // the last commit that is known to have worked
	trouble   *trouble  // nil while all is well
	reporter  reporter
	know      sync.Once
}

// trouble is what is wrong with an engine.
type trouble struct {
	cause dibs.Cause
	err   error // as the engine said it
	since time.Time
	gone  bool // it does not answer at all
}

// hopeless reports whether it is no use to try a commit: it would only end in an unknown
// outcome, after a long wait.
func (t *trouble) hopeless() bool { return t.gone || t.cause == dibs.CauseStandby }

func newEngine(name string, store dibs.Store, log *slog.Logger, pace Pace) *engine {
	ctx, stop := context.WithCancel(context.Background())
	return &engine{
		Store: store, pace: pace, ctx: ctx, stop: stop,
		looked: make(chan struct{}), wake: make(chan struct{}, 1),
		reporter: newReporter(name, log, pace.Remind),
	}
}

func (e *engine) state() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{Store: e.reporter.store, Reads: true, Writes: true}
	if t := e.trouble; t != nil {
		s.Reads, s.Writes, s.Cause, s.Since = !t.gone, false, t.cause, t.since
	}
	return s
}

// suspect has the engine looked at now.
func (e *engine) suspect() {
	select {
	case e.wake <- struct{}{}:
	default: // it is about to be
	}
}

// refusal is what a call is answered that is no use to make.
func (e *engine) refusal(write bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.trouble
	if t == nil || !t.gone && (!write || !t.hopeless()) {
		return nil
	}
	e.reporter.failures++
	return reported{dibs.Unavailable(t.err).Because(t.cause)}
}

// works notes that a commit has worked.
func (e *engine) works() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.committed = time.Now()
	if e.trouble != nil {
		e.reporter.over(e.trouble)
		e.trouble = nil
	}
	e.isKnown()
}

// answers notes that the engine answers, whether or not it can be written to.
func (e *engine) answers() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trouble != nil {
		e.trouble.gone = false
	}
}

// fails notes what is wrong with the engine. A call that failed is counted, a look is not.
func (e *engine) fails(err error, cause dibs.Cause, gone bool, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	begins := e.trouble == nil
	if begins {
		e.trouble = &trouble{since: time.Now()}
	}
	t := e.trouble
	t.cause, t.err, t.gone = cause, err, gone
	e.reporter.failures += calls
	e.reporter.tell(t, begins)
	e.isKnown()
}

func (e *engine) isKnown() { e.know.Do(func() { close(e.looked) }) }

// noteRead takes in how a call ended that only reads. One that is not answered makes the
// engine gone. Any other failure may be about what was read: then a look tells.
func (e *engine) noteRead(ctx context.Context, err error) error {
	cause := causeOf(err)
	if cause == "" || ctx.Err() != nil {
		return err
	}
	e.suspect()
	if cause != dibs.CauseNoAnswer {
		return err
	}
	e.fails(plain(err), cause, true, 1)
	return reported{err}
}

// noteCommit takes in how a commit ended. An error that does not say what is wrong with the
// engine may be about this one commit alone: then a look tells.
func (e *engine) noteCommit(outcomes []dibs.Outcome, err error) error {
	if err == nil {
		if slices.Contains(outcomes, dibs.Committed) {
			e.works()
		}
		return nil
	}
	if errors.Is(err, dibs.ErrClosed) {
		return err
	}
	defer e.suspect()
	cause := causeOf(err)
	if cause == "" {
		return err
	}
	e.fails(plain(err), cause, cause == dibs.CauseNoAnswer, 1)
	return reported{err}
}

// causeOf returns the cause that an engine has given.
func causeOf(err error) dibs.Cause {
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return e.Cause
	}
	return ""
}

// plain returns what an engine's error wraps: the code and the advice are for callers.
func plain(err error) error {
	if e, ok := errors.AsType[*dibs.Error](err); ok && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return err
}
