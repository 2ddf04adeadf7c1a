package core

import (
	"context"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// observed is a backend that reports its calls to an observer. It wraps the backend that the
// Registry calls, so a call is reported once: not again for the parts behind a router, nor
// for calls between methods.
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

func (o observed) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	bound, err := o.EmbeddedBackend.InTransaction(bind)
	if err != nil {
		return nil, err
	}
	return observe(bound.(dibs.EmbeddedBackend), *o.observer), nil
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

// observeCall reports the beginning and the end of a call.
func observeCall[T any](ctx context.Context, o observed, op, namespace string, size int, call func(context.Context) (T, error)) (T, error) {
	ctx, end := beginWork(ctx, o.observer, dibs.Work{Kind: dibs.WorkCall, Op: op, Namespace: namespace, Size: size})
	answer, err := call(ctx)
	end(err)
	return answer, err
}

func (o observed) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	op, namespace := "apply", ""
	if len(req.Commands) == 1 && req.Commands[0] != nil {
		op = req.Commands[0].Op()
		if at := rules.Locations(req.Commands[0]); len(at) == 1 {
			namespace = at[0].Namespace
		}
	}
	return observeCall(ctx, o, op, namespace, len(req.Commands), func(ctx context.Context) ([]dibs.Result, error) { return o.EmbeddedBackend.Apply(ctx, req) })
}

func (o observed) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	return observeCall(ctx, o, "check", req.Namespace, len(req.Values), func(ctx context.Context) ([]dibs.Availability, error) { return o.EmbeddedBackend.Check(ctx, req) })
}

func (o observed) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	return observeCall(ctx, o, "resolve", namespace, 1, func(ctx context.Context) (dibs.Resolution, error) {
		return o.EmbeddedBackend.Resolve(ctx, namespace, value)
	})
}

func (o observed) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	return observeCall(ctx, o, "get", lookup.Namespace, 1, func(ctx context.Context) (dibs.Name, error) { return o.EmbeddedBackend.Get(ctx, lookup) })
}

func (o observed) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	return observeCall(ctx, o, "entity", "", 1, func(ctx context.Context) (dibs.EntityInfo, error) {
		return o.EmbeddedBackend.Entity(ctx, scope, entity)
	})
}

func (o observed) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	return observeCall(ctx, o, "list", query.Namespace, 0, func(ctx context.Context) (dibs.NamesPage, error) { return o.EmbeddedBackend.List(ctx, query) })
}

func (o observed) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return observeCall(ctx, o, "history", query.Namespace, 1, func(ctx context.Context) (dibs.HistoryPage, error) { return o.EmbeddedBackend.History(ctx, query) })
}

func (o observed) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	return observeCall(ctx, o, "whoheld", namespace, 1, func(ctx context.Context) (dibs.Holder, error) {
		return o.EmbeddedBackend.WhoHeld(ctx, namespace, value, at)
	})
}

// Events reports the read of a page. A call that waits is not work, and not reported.
func (o observed) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if wait {
		return o.EmbeddedBackend.Events(ctx, query, wait)
	}
	return observeCall(ctx, o, "events", query.Namespace, 0, func(ctx context.Context) (dibs.EventPage, error) { return o.EmbeddedBackend.Events(ctx, query, wait) })
}

func (o observed) Stats(ctx context.Context) (dibs.Stats, error) {
	return observeCall(ctx, o, "stats", "", 0, o.EmbeddedBackend.Stats)
}

func (o observed) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	return observeCall(ctx, o, "conflicts", query.Namespace, 0, func(ctx context.Context) ([]dibs.ConflictBucket, error) {
		return o.EmbeddedBackend.Conflicts(ctx, query)
	})
}

func (o observed) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	return observeCall(ctx, o, "recanonicalize", req.Namespace, 0, func(ctx context.Context) (dibs.Recanonicalization, error) {
		return o.EmbeddedBackend.Recanonicalize(ctx, req)
	})
}

func (o observed) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	return observeCall(ctx, o, "forget", req.Namespace, 1, func(ctx context.Context) (dibs.Forgetting, error) { return o.EmbeddedBackend.Forget(ctx, req) })
}

func (o observed) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	return observeCall(ctx, o, "sweep", "", limit, func(ctx context.Context) (dibs.SweepReport, error) { return o.EmbeddedBackend.Sweep(ctx, limit) })
}

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

// beginWork reports the beginning of work, and returns the function to call at its end.
func beginWork(ctx context.Context, o *dibs.Observer, work dibs.Work) (context.Context, func(error)) {
	if !traces(o) {
		return ctx, ended
	}
	return o.Begin(ctx, work)
}

func ended(error) {}

// traces reports whether an observer wants to know when work begins.
func traces(o *dibs.Observer) bool { return o != nil && o.Begin != nil }
