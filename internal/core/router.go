package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/internal/wake"
)

// router is the embedded backend. It has a core for each part of the store, nearly always one,
// and sends each call about a scope to the core of that scope, so batches never mix engines. It
// sends calls about all scopes to all parts and merges the answers, see router_merge.go. It
// reports each call to the observer once, whatever cores do for it. The methods without a comment
// do as [dibs.Backend] says.
type router struct {
	policies
	whole    dibs.Partitioned
	parts    []dibs.Part
	observer *dibs.Observer
	cores    []*core // of the parts, outside of transactions
	tx       *core   // on the transaction of the caller; nil outside
	bound    int     // the part of that transaction

	cache  *partCache
	feed   feed
	sweeps atomic.Uint32 // how often Sweep was called
}

var _ dibs.EmbeddedBackend = (*router)(nil)

// onePart is a store that is one engine.
type onePart struct{ dibs.Store }

func (s onePart) Parts() []dibs.Part { return []dibs.Part{{Store: s.Store}} }
func (s onePart) PartOf(string) int  { return 0 }
func (s onePart) Close() error       { return nil } // the core closes the engine

func openRouter(store dibs.Store, cfg dibs.Config, all policies) *router {
	whole, ok := store.(dibs.Partitioned)
	if !ok || len(whole.Parts()) == 0 {
		whole = onePart{store}
	}
	commits := &wake.List{}
	r := &router{
		policies: all, whole: whole, parts: whole.Parts(), observer: &cfg.Observer,
		cache: newPartCache(), feed: feed{whole, all.current, commits, withDefaults(cfg, whole).PollEvery},
	}
	for _, part := range r.parts {
		own := withDefaults(cfg, part.Store)
		if r.hasSeveral() {
			own.Logger = own.Logger.With("part", part.Name)
		}
		r.cores = append(r.cores, openCore(part.Store, own, all, commits))
	}
	return r
}

func (r *router) hasSeveral() bool { return len(r.parts) > 1 }

// IsBound reports whether the backend is bound to a transaction of the caller.
func (r *router) IsBound() bool { return r.tx != nil }

// InTransaction binds the one part that the transaction can be on. Commands about other parts
// are refused: they would not commit with it.
func (r *router) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	bound := &router{
		policies: r.policies, whole: r.whole, parts: r.parts, observer: r.observer,
		cores: r.cores, cache: r.cache, feed: r.feed,
	}
	var failed error
	var joinable []string
	for i, c := range r.cores {
		tx, err := c.inTransaction(bind)
		if err != nil {
			failed = err
			continue
		}
		bound.tx, bound.bound = tx, i
		joinable = append(joinable, r.parts[i].Name)
	}
	switch {
	case len(joinable) == 0:
		return nil, failed
	case len(joinable) > 1:
		return nil, fmt.Errorf("%w: the transaction could be on any of the stores %s: "+
			"with routes, only one store of each engine can join transactions of the caller", dibs.ErrUnsupported, strings.Join(joinable, ", "))
	case !r.hasSeveral():
		bound.policies = bound.tx.policies
	}
	return bound, nil
}

// partFor returns the part of a namespace. Any part refuses a malformed namespace.
func (r *router) partFor(namespace string) int { return r.whole.PartOf(dibs.ScopeOf(namespace)) }

// anyPart returns the part for what has no location: the part of the transaction of the caller,
// or else any.
func (r *router) anyPart() int {
	if r.IsBound() {
		return r.bound
	}
	return r.whole.PartOf("")
}

// coreOf returns the core of a part, which must be that of the transaction of the caller, if there
// is one.
func (r *router) coreOf(part int) (*core, error) {
	switch {
	case !r.IsBound():
		return r.cores[part], nil
	case part == r.bound:
		return r.tx, nil
	default:
		return nil, fmt.Errorf("%w: the transaction is on the store %q, and the command is about the store %q",
			dibs.ErrUnsupported, r.parts[r.bound].Name, r.parts[part].Name)
	}
}

// on makes a call of the core of a part, and reports it.
func on[Q, A any](ctx context.Context, r *router, part int, work dibs.Work, do func(*core, context.Context, Q) (A, error), q Q) (answer A, err error) {
	ctx, end := beginWork(ctx, r.observer, work)
	c, err := r.coreOf(part)
	if err == nil {
		answer, err = do(c, ctx, q)
	}
	end(err)
	return answer, err
}

func callWork(op, namespace string, size int) dibs.Work {
	return dibs.Work{Kind: dibs.WorkCall, Op: op, Namespace: namespace, Size: size}
}

// Apply decides commands and commits them, in the one part that all of them are about.
func (r *router) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	if !traces(r.observer) {
		return r.apply(ctx, req)
	}
	op, namespace := "apply", ""
	if len(req.Commands) == 1 && req.Commands[0] != nil {
		op = req.Commands[0].Op()
		if at := rules.Locations(req.Commands[0]); len(at) == 1 {
			namespace = at[0].Namespace
		}
	}
	ctx, end := beginWork(ctx, r.observer, callWork(op, namespace, len(req.Commands)))
	results, err := r.apply(ctx, req)
	end(err)
	return results, err
}

func (r *router) apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	part := r.anyPart()
	if r.hasSeveral() {
		start := time.Now()
		var refused *dibs.Error
		if part, refused = r.partOf(ctx, req.Principal, req.Commands); refused != nil {
			if !req.DryRun && refused.Code != dibs.CodeUnavailable {
				r.cores[part].conflicts.note(refused, 0)
			}
			observeCommand(r.observer, req, start, refused)
			return nil, refused
		}
	}
	c, err := r.coreOf(part)
	if err != nil {
		return nil, err
	}
	results, err := c.Apply(ctx, req)
	if r.hasSeveral() {
		r.cache.note(results)
	}
	return results, err
}

func (r *router) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	return on(ctx, r, r.partFor(req.Namespace), callWork("check", req.Namespace, len(req.Values)), (*core).Check, req)
}

func (r *router) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	return on(ctx, r, r.partFor(namespace), callWork("resolve", namespace, 1), (*core).Resolve, nameQuery{namespace, value})
}

func (r *router) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	ctx, end := beginWork(ctx, r.observer, callWork("get", lookup.Namespace, 1))
	name, err := r.get(ctx, lookup)
	end(err)
	return name, err
}

func (r *router) get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	part := r.partFor(lookup.Namespace)
	if !lookup.ID.IsZero() && r.hasSeveral() {
		found, err := r.locate(ctx, []dibs.ID{lookup.ID}, func(_ dibs.ID, namespace string) bool { return lookup.Sees(namespace) })
		if err != nil {
			return dibs.Name{}, err
		}
		part, _ = r.partWith(lookup.ID, found) // any part answers that there is no such name
	}
	c, err := r.coreOf(part)
	if err != nil {
		return dibs.Name{}, err
	}
	return c.Get(ctx, lookup)
}

func (r *router) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	return on(ctx, r, r.whole.PartOf(scope), callWork("entity", "", 1), (*core).Entity, rules.Person{Scope: scope, Entity: entity})
}

func (r *router) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return on(ctx, r, r.partFor(query.Namespace), callWork("history", query.Namespace, 1), (*core).History, query)
}

func (r *router) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	return on(ctx, r, r.partFor(namespace), callWork("whoheld", namespace, 1), (*core).WhoHeld, heldQuery{nameQuery{namespace, value}, at})
}

func (r *router) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	return on(ctx, r, r.partFor(req.Namespace), callWork("recanonicalize", req.Namespace, 0), (*core).Recanonicalize, req)
}

// Forget erases a person, or a name, in the part that has its scope.
func (r *router) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	part := r.whole.PartOf(req.Scope)
	if req.Namespace != "" || req.Value != "" {
		part = r.partFor(req.Namespace)
	}
	return on(ctx, r, part, callWork("forget", req.Namespace, 1), (*core).Forget, req)
}

// Close closes all parts at once: a part that does not answer may take long.
func (r *router) Close() error {
	if r.IsBound() {
		return nil
	}
	errs := make([]error, len(r.cores))
	var closing sync.WaitGroup
	for i, c := range r.cores {
		closing.Go(func() { errs[i] = c.Close() })
	}
	closing.Wait()
	return errors.Join(errors.Join(errs...), r.whole.Close())
}
