package health

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/snapshot"
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

	clock clockWatch

	mu        sync.Mutex
	committed time.Time // the last successful commit
	failure   *failure  // nil while the engine works
	reporter  reporter
}

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

// noteFailure notes a failure, and how many calls it failed: none for a probe. Without an answer
// the engine is unreachable.
func (e *engine) noteFailure(err error, cause dibs.Cause, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	begins := e.failure == nil
	if begins {
		e.failure = &failure{since: time.Now()}
	}
	f := e.failure
	f.cause, f.err, f.unreachable = cause, plain(err), cause == dibs.CauseNoAnswer
	e.reporter.failures += calls
	e.reporter.failing(f, begins)
	e.know()
}

// noteRead notes the outcome of a call that only reads. An error other than a missing answer may
// be about this call alone: a probe finds out.
func (e *engine) noteRead(ctx context.Context, err error) error {
	cause := CauseOf(err)
	if cause == "" || ctx.Err() != nil {
		return err
	}
	e.probeNow()
	if cause == dibs.CauseDamaged {
		e.noteDamage(err)
		return reported{err}
	}
	if cause != dibs.CauseNoAnswer {
		return err
	}
	e.noteFailure(err, cause, 1)
	return reported{err}
}

// noteDamage logs that a record cannot be read, unless that was logged a short time ago. The other
// records are still served.
func (e *engine) noteDamage(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reporter.damaged(err)
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
	e.noteFailure(err, cause, 1)
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

var (
	_ dibs.Store    = (*engine)(nil)
	_ dibs.Pinger   = (*engine)(nil)
	_ dibs.Waker    = (*engine)(nil)
	_ dibs.Clock    = (*engine)(nil)
	_ dibs.Parallel = (*engine)(nil)

	_ snapshot.Source = (*engine)(nil)
	_ bisect.Seeker   = (*engine)(nil)
)

// reading makes a call that only reads, unless the engine is known to be unreachable.
func reading[T any](ctx context.Context, e *engine, call func() (T, error)) (T, error) {
	if err := e.refusal(false); err != nil {
		var none T
		return none, err
	}
	slow := time.AfterFunc(e.intervals.slow, e.probeNow)
	defer slow.Stop()
	answer, err := call()
	return answer, e.noteRead(ctx, err)
}

func (e *engine) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	return reading(ctx, e, func() (dibs.LoadResult, error) {
		began := time.Now()
		found, err := e.Store.Load(ctx, refs)
		if err == nil {
			e.noteClock(began, found.Now)
		}
		return found, err
	})
}

func (e *engine) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := e.refusal(true); err != nil {
		return nil, err
	}
	slow := time.AfterFunc(e.intervals.slow, e.probeNow)
	defer slow.Stop()
	outcomes, err := e.Store.Commit(ctx, groups)
	return outcomes, e.noteCommit(outcomes, err)
}

// Await starts no probe: that it takes long does not mean that the engine is slow.
func (e *engine) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if err := e.refusal(false); err != nil {
		return err
	}
	return e.noteRead(ctx, e.Store.Await(ctx, refs, end))
}

func (e *engine) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return reading(ctx, e, func() ([]dibs.Ref, error) { return e.Store.Due(ctx, limit) })
}

func (e *engine) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	return reading(ctx, e, func() ([]*dibs.NameRecord, error) { return e.Store.Owned(ctx, scope, entity, limit) })
}

func (e *engine) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	return reading(ctx, e, func() ([]dibs.Record, error) { return e.Store.List(ctx, query) })
}

func (e *engine) Count(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
	return reading(ctx, e, func() (dibs.Stats, error) { return e.Store.Count(ctx, soon) })
}

func (e *engine) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return reading(ctx, e, func() ([]dibs.Event, error) { return e.Store.Events(ctx, query) })
}

func (e *engine) Latest(ctx context.Context) (dibs.Cursor, error) {
	return reading(ctx, e, func() (dibs.Cursor, error) { return e.Store.Latest(ctx) })
}

// Snapshot takes a snapshot of the engine, if the engine can.
func (e *engine) Snapshot(ctx context.Context) (snapshot.View, error) {
	return reading(ctx, e, func() (snapshot.View, error) { return snapshot.Take(ctx, e.Store) })
}

// Seek returns the cursor just before a date.
func (e *engine) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return reading(ctx, e, func() (dibs.Cursor, error) { return bisect.Seek(ctx, e.Store, at) })
}

// Ping checks that the engine answers.
func (e *engine) Ping(ctx context.Context) error {
	_, err := reading(ctx, e, func() (struct{}, error) { return struct{}{}, Ping(ctx, e.Store) })
	return err
}

// Ping checks that a store answers.
func Ping(ctx context.Context, store dibs.Store) error {
	if pinger, ok := store.(dibs.Pinger); ok {
		return pinger.Ping(ctx)
	}
	_, err := store.Load(ctx, nil)
	return err
}

// Wake passes on the engine's notifications of other processes. A nil channel never receives.
func (e *engine) Wake(ctx context.Context) <-chan struct{} {
	if waker, ok := e.Store.(dibs.Waker); ok {
		return waker.Wake(ctx)
	}
	return nil
}

// Now estimates the engine's clock, if the engine can.
func (e *engine) Now() (dibs.Instant, bool) {
	if clock, ok := e.Store.(dibs.Clock); ok {
		return clock.Now()
	}
	return 0, false
}

// Writers returns how many concurrent batches suit the engine.
func (e *engine) Writers() int {
	if parallel, ok := e.Store.(dibs.Parallel); ok {
		return parallel.Writers()
	}
	return 1
}

// Close ends the probes, and closes the engine.
func (e *engine) Close() error {
	e.stop()
	e.working.Wait()
	return e.Store.Close()
}

// scrubbing is an engine that can remove deleted data from its files.
type scrubbing struct{ *engine }

var _ dibs.Scrubber = scrubbing{}

func (s scrubbing) Scrub(ctx context.Context) error { return s.Store.(dibs.Scrubber).Scrub(ctx) }
