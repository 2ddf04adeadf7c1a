package dibs

import (
	"context"
	"time"
)

// observed is a backend whose calls are told of. Where nobody wants to know there is none.
type observed struct {
	EmbeddedBackend
	observer *Observer
}

// observe returns the backend, and tells of its calls if anybody wants to know.
func observe(b EmbeddedBackend, observer Observer) EmbeddedBackend {
	if traces(&observer) {
		return observed{b, &observer}
	}
	return b
}

func (o observed) InTransaction(bind func(Store) (Store, error)) (Backend, error) {
	bound, err := o.EmbeddedBackend.InTransaction(bind)
	if err != nil {
		return nil, err
	}
	return observe(bound.(EmbeddedBackend), *o.observer), nil
}

// observeCommand tells of an Apply.
func observeCommand(o Observer, req ApplyRequest, start time.Time, err *Error) {
	if o.Command == nil {
		return
	}
	info := CommandInfo{Commands: req.Commands, DryRun: req.DryRun, Took: time.Since(start)}
	if err != nil {
		info.Err = err
	}
	o.Command(info)
}

// observeCall runs a call between its beginning and its end.
func observeCall[T any](ctx context.Context, o observed, op, namespace string, size int, call func(context.Context) (T, error)) (T, error) {
	ctx, end := beginWork(ctx, o.observer, Work{Kind: WorkCall, Op: op, Namespace: namespace, Size: size})
	answer, err := call(ctx)
	end(err)
	return answer, err
}

func (o observed) Apply(ctx context.Context, req ApplyRequest) ([]Result, error) {
	op, namespace := "apply", ""
	if len(req.Commands) == 1 && req.Commands[0] != nil {
		op = req.Commands[0].Op()
		if at := locations(req.Commands[0]); len(at) == 1 {
			namespace = at[0].namespace
		}
	}
	return observeCall(ctx, o, op, namespace, len(req.Commands), func(ctx context.Context) ([]Result, error) { return o.EmbeddedBackend.Apply(ctx, req) })
}

func (o observed) Check(ctx context.Context, req CheckRequest) ([]Availability, error) {
	return observeCall(ctx, o, "check", req.Namespace, len(req.Values), func(ctx context.Context) ([]Availability, error) { return o.EmbeddedBackend.Check(ctx, req) })
}

func (o observed) Resolve(ctx context.Context, namespace, value string) (Resolution, error) {
	return observeCall(ctx, o, "resolve", namespace, 1, func(ctx context.Context) (Resolution, error) { return o.EmbeddedBackend.Resolve(ctx, namespace, value) })
}

func (o observed) Get(ctx context.Context, lookup Lookup) (Name, error) {
	return observeCall(ctx, o, "get", lookup.Namespace, 1, func(ctx context.Context) (Name, error) { return o.EmbeddedBackend.Get(ctx, lookup) })
}

func (o observed) Entity(ctx context.Context, scope string, entity Entity) (EntityInfo, error) {
	return observeCall(ctx, o, "entity", "", 1, func(ctx context.Context) (EntityInfo, error) { return o.EmbeddedBackend.Entity(ctx, scope, entity) })
}

func (o observed) List(ctx context.Context, query NamesQuery) (NamesPage, error) {
	return observeCall(ctx, o, "list", query.Namespace, 0, func(ctx context.Context) (NamesPage, error) { return o.EmbeddedBackend.List(ctx, query) })
}

func (o observed) History(ctx context.Context, query HistoryQuery) (HistoryPage, error) {
	return observeCall(ctx, o, "history", query.Namespace, 1, func(ctx context.Context) (HistoryPage, error) { return o.EmbeddedBackend.History(ctx, query) })
}

func (o observed) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (Holder, error) {
	return observeCall(ctx, o, "whoheld", namespace, 1, func(ctx context.Context) (Holder, error) { return o.EmbeddedBackend.WhoHeld(ctx, namespace, value, at) })
}

// Events tells of a page. Waiting for one is no work.
func (o observed) Events(ctx context.Context, query FeedQuery, wait bool) (EventPage, error) {
	if wait {
		return o.EmbeddedBackend.Events(ctx, query, wait)
	}
	return observeCall(ctx, o, "events", query.Namespace, 0, func(ctx context.Context) (EventPage, error) { return o.EmbeddedBackend.Events(ctx, query, wait) })
}

func (o observed) Stats(ctx context.Context) (Stats, error) {
	return observeCall(ctx, o, "stats", "", 0, o.EmbeddedBackend.Stats)
}

func (o observed) Conflicts(ctx context.Context, query ConflictsQuery) ([]ConflictBucket, error) {
	return observeCall(ctx, o, "conflicts", query.Namespace, 0, func(ctx context.Context) ([]ConflictBucket, error) { return o.EmbeddedBackend.Conflicts(ctx, query) })
}

func (o observed) Recanonicalize(ctx context.Context, req RecanonicalizeRequest) (Recanonicalization, error) {
	return observeCall(ctx, o, "recanonicalize", req.Namespace, 0, func(ctx context.Context) (Recanonicalization, error) {
		return o.EmbeddedBackend.Recanonicalize(ctx, req)
	})
}

func (o observed) Forget(ctx context.Context, req ForgetRequest) (Forgetting, error) {
	return observeCall(ctx, o, "forget", req.Namespace, 1, func(ctx context.Context) (Forgetting, error) { return o.EmbeddedBackend.Forget(ctx, req) })
}

func (o observed) Sweep(ctx context.Context, limit int) (SweepReport, error) {
	return observeCall(ctx, o, "sweep", "", limit, func(ctx context.Context) (SweepReport, error) { return o.EmbeddedBackend.Sweep(ctx, limit) })
}

// beginWork tells of work that begins, and returns what to call at its end.
func beginWork(ctx context.Context, o *Observer, work Work) (context.Context, func(error)) {
	if o == nil || o.Begin == nil {
		return ctx, ended
	}
	return o.Begin(ctx, work)
}

func ended(error) {}

// traces reports whether anybody wants to know when work begins.
func traces(o *Observer) bool { return o != nil && o.Begin != nil }
