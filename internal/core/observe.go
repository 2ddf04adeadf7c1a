package core

import (
	"context"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
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

// observeWork reports the beginning and the end of work.
func observeWork[Q, A any](ctx context.Context, o *dibs.Observer, work dibs.Work, do func(context.Context, Q) (A, error), q Q) (A, error) {
	ctx, end := beginWork(ctx, o, work)
	answer, err := do(ctx, q)
	end(err)
	return answer, err
}

// observeCommand reports an Apply.
func observeCommand(o dibs.Observer, req dibs.ApplyRequest, start time.Time, err *dibs.Error) {
	if o.Command == nil {
		return
	}
	info := dibs.CommandInfo{Commands: req.Commands, DryRun: req.DryRun, Took: time.Since(start)}
	if err != nil {
		info.Err = err
	}
	o.Command(info)
}

// observed is a backend that reports its calls to an observer. It wraps the backend that the
// Registry calls, so a call is reported once: not again for the parts behind a router, nor for
// calls between methods.
type observed struct {
	dibs.EmbeddedBackend
	observer *dibs.Observer
}

// observe returns the backend itself, or observed if the observer traces.
func observe(b dibs.EmbeddedBackend, observer dibs.Observer) dibs.EmbeddedBackend {
	if traces(&observer) {
		return observed{b, &observer}
	}
	return b
}

func callWork(op, namespace string, size int) dibs.Work {
	return dibs.Work{Kind: dibs.WorkCall, Op: op, Namespace: namespace, Size: size}
}

func (o observed) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	bound, err := o.EmbeddedBackend.InTransaction(bind)
	if err != nil {
		return nil, err
	}
	return observe(bound.(dibs.EmbeddedBackend), *o.observer), nil
}

func (o observed) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	op, namespace := "apply", ""
	if len(req.Commands) == 1 && req.Commands[0] != nil {
		op = req.Commands[0].Op()
		if at := rules.Locations(req.Commands[0]); len(at) == 1 {
			namespace = at[0].Namespace
		}
	}
	return observeWork(ctx, o.observer, callWork(op, namespace, len(req.Commands)), o.EmbeddedBackend.Apply, req)
}

func (o observed) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	return observeWork(ctx, o.observer, callWork("check", req.Namespace, len(req.Values)), o.EmbeddedBackend.Check, req)
}

func (o observed) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	ctx, end := beginWork(ctx, o.observer, callWork("resolve", namespace, 1))
	answer, err := o.EmbeddedBackend.Resolve(ctx, namespace, value)
	end(err)
	return answer, err
}

func (o observed) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	return observeWork(ctx, o.observer, callWork("get", lookup.Namespace, 1), o.EmbeddedBackend.Get, lookup)
}

func (o observed) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	ctx, end := beginWork(ctx, o.observer, callWork("entity", "", 1))
	answer, err := o.EmbeddedBackend.Entity(ctx, scope, entity)
	end(err)
	return answer, err
}

func (o observed) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	return observeWork(ctx, o.observer, callWork("list", query.Namespace, 0), o.EmbeddedBackend.List, query)
}

func (o observed) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return observeWork(ctx, o.observer, callWork("history", query.Namespace, 1), o.EmbeddedBackend.History, query)
}

func (o observed) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	ctx, end := beginWork(ctx, o.observer, callWork("whoheld", namespace, 1))
	answer, err := o.EmbeddedBackend.WhoHeld(ctx, namespace, value, at)
	end(err)
	return answer, err
}

// Events reports the read of a page. A call that waits is not work, and not reported.
func (o observed) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if wait {
		return o.EmbeddedBackend.Events(ctx, query, wait)
	}
	ctx, end := beginWork(ctx, o.observer, callWork("events", query.Namespace, 0))
	answer, err := o.EmbeddedBackend.Events(ctx, query, false)
	end(err)
	return answer, err
}

func (o observed) Stats(ctx context.Context) (dibs.Stats, error) {
	ctx, end := beginWork(ctx, o.observer, callWork("stats", "", 0))
	answer, err := o.EmbeddedBackend.Stats(ctx)
	end(err)
	return answer, err
}

func (o observed) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	return observeWork(ctx, o.observer, callWork("conflicts", query.Namespace, 0), o.EmbeddedBackend.Conflicts, query)
}

func (o observed) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	return observeWork(ctx, o.observer, callWork("recanonicalize", req.Namespace, 0), o.EmbeddedBackend.Recanonicalize, req)
}

func (o observed) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	return observeWork(ctx, o.observer, callWork("forget", req.Namespace, 1), o.EmbeddedBackend.Forget, req)
}

func (o observed) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	return observeWork(ctx, o.observer, callWork("sweep", "", limit), o.EmbeddedBackend.Sweep, limit)
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

func (s *observedStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return observeWork(ctx, &s.observer, engineWork("events", query.Limit), s.Store.Events, query)
}

func (s *observedStore) Latest(ctx context.Context) (dibs.Cursor, error) {
	ctx, end := beginWork(ctx, &s.observer, engineWork("latest", 1))
	cursor, err := s.Store.Latest(ctx)
	end(err)
	return cursor, err
}
