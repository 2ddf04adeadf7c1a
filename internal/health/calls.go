package health

import (
	"context"
	"time"

	"github.com/calldibs/dibs"
)

var (
	_ dibs.Store    = (*engine)(nil)
	_ dibs.Pinger   = (*engine)(nil)
	_ dibs.Waker    = (*engine)(nil)
	_ dibs.Clock    = (*engine)(nil)
	_ dibs.Parallel = (*engine)(nil)
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
	return reading(ctx, e, func() (dibs.LoadResult, error) { return e.Store.Load(ctx, refs) })
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

// Scrub scrubs the engine's files.
func (s scrubbing) Scrub(ctx context.Context) error { return s.Store.(dibs.Scrubber).Scrub(ctx) }
