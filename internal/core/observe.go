package core

import (
	"context"
	"time"

	"github.com/calldibs/dibs"
)

// traces reports whether an observer wants to know when work begins.
func traces(o *dibs.Observer) bool { return o.Begin != nil }

// beginWork reports the beginning of work, and returns the function to call at its end.
func beginWork(ctx context.Context, o *dibs.Observer, work dibs.Work) (context.Context, func(error)) {
	if !traces(o) {
		return ctx, ended
	}
	return o.Begin(ctx, work)
}

func ended(error) {}

// beginBatch reports the beginning of work that several callers share. The context belongs to
// none of them.
func beginBatch[T any](o *dibs.Observer, op string, batch []T, callerOf func(T) context.Context) (context.Context, func(error)) {
	ctx := context.Background()
	if !traces(o) {
		return ctx, ended
	}
	callers := make([]context.Context, len(batch))
	for i, item := range batch {
		callers[i] = callerOf(item)
	}
	return beginWork(ctx, o, dibs.Work{Kind: dibs.WorkBatch, Op: op, Size: len(batch), Callers: callers})
}

func observeWork[Q, A any](ctx context.Context, o *dibs.Observer, work dibs.Work, do func(context.Context, Q) (A, error), q Q) (A, error) {
	ctx, end := beginWork(ctx, o, work)
	answer, err := do(ctx, q)
	end(err)
	return answer, err
}

func observeCommand(o *dibs.Observer, req dibs.ApplyRequest, start time.Time, err *dibs.Error) {
	if o.Command == nil {
		return
	}
	info := dibs.CommandInfo{Commands: req.Commands, DryRun: req.DryRun, Took: time.Since(start)}
	if err != nil {
		info.Err = err
	}
	o.Command(info)
}

// observedStore is an engine whose calls are reported to an observer.
type observedStore struct {
	dibs.Store
	observer dibs.Observer
}

// observeStore returns the engine itself, or observedStore if the observer traces. Use
// [unobserved] to find optional interfaces of the engine.
func observeStore(store dibs.Store, observer dibs.Observer) dibs.Store {
	if !traces(&observer) {
		return store
	}
	return &observedStore{store, observer}
}

// unobserved returns the engine itself.
func unobserved(store dibs.Store) dibs.Store {
	if o, ok := store.(*observedStore); ok {
		return o.Store
	}
	return store
}

func engineWork(op string, size int) dibs.Work {
	return dibs.Work{Kind: dibs.WorkEngine, Op: op, Size: size}
}

func (s *observedStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	return observeWork(ctx, &s.observer, engineWork("load", len(refs)), s.Store.Load, refs)
}

func (s *observedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	return observeWork(ctx, &s.observer, engineWork("commit", len(groups)), s.Store.Commit, groups)
}

func (s *observedStore) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	ctx, done := beginWork(ctx, &s.observer, engineWork("await", len(refs)))
	err := s.Store.Await(ctx, refs, end)
	done(err)
	return err
}

func (s *observedStore) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	ctx, end := beginWork(ctx, &s.observer, engineWork("owned", limit))
	names, err := s.Store.Owned(ctx, scope, entity, limit)
	end(err)
	return names, err
}

func (s *observedStore) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return observeWork(ctx, &s.observer, engineWork("due", limit), s.Store.Due, limit)
}

func (s *observedStore) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	return observeWork(ctx, &s.observer, engineWork("list", query.Limit), s.Store.List, query)
}

func (s *observedStore) Count(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
	return observeWork(ctx, &s.observer, engineWork("count", 1), s.Store.Count, soon)
}

func (s *observedStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return observeWork(ctx, &s.observer, engineWork("events", query.Limit), s.Store.Events, query)
}

func (s *observedStore) Latest(ctx context.Context) (dibs.Cursor, error) {
	ctx, end := beginWork(ctx, &s.observer, engineWork("latest", 1))
	cursor, err := s.Store.Latest(ctx)
	end(err)
	return cursor, err
}
