package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wake"
)

// router is the embedded backend on a store of several parts. It has a core for each part, and
// sends each call about a scope to the core of that scope, so batches never mix engines. It
// sends calls about all scopes to all parts and merges the answers, see router_merge.go. The
// methods without a comment do as [dibs.Backend] says.
type router struct {
	policies
	whole    dibs.Partitioned
	parts    []dibs.Part
	backends []dibs.Backend // of the parts: the cores, or what a transaction binds
	bound    int            // the part of the transaction of the caller, or -1

	cores  []*core // of the parts, outside of transactions
	cache  *partCache
	feed   feed
	sweeps atomic.Uint32 // how often Sweep was called
}

var _ dibs.EmbeddedBackend = (*router)(nil)

func openRouter(whole dibs.Partitioned, cfg dibs.Config, all policies) *router {
	commits := &wake.List{}
	r := &router{
		policies: all, whole: whole, parts: whole.Parts(), bound: -1,
		cache: newPartCache(), feed: feed{whole, all.current, commits, withDefaults(cfg, whole).PollEvery},
	}
	for _, part := range r.parts {
		own := withDefaults(cfg, part.Store)
		own.Logger = own.Logger.With("part", part.Name)
		c := openCore(part.Store, own, all, commits)
		r.backends, r.cores = append(r.backends, c), append(r.cores, c)
	}
	return r
}

// IsBound reports whether the backend is bound to a transaction of the caller.
func (r *router) IsBound() bool { return r.bound >= 0 }

// InTransaction binds the one part that the transaction can be on. Commands about other parts
// are refused: they would not commit with it.
func (r *router) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	bound := &router{
		policies: r.policies, whole: r.whole, parts: r.parts, bound: -1,
		cores: r.cores, cache: r.cache,
	}
	var (
		failed   error
		joinable []string
	)
	for i, c := range r.cores {
		backend, err := c.InTransaction(bind)
		if err != nil {
			failed = err
		} else {
			bound.bound = i
			joinable = append(joinable, r.parts[i].Name)
		}
		bound.backends = append(bound.backends, backend)
	}
	switch len(joinable) {
	case 0:
		return nil, failed
	case 1:
	default:
		return nil, fmt.Errorf("%w: the transaction could be on any of the stores %s: "+
			"with routes, only one store of each engine can join transactions of the caller", dibs.ErrUnsupported, strings.Join(joinable, ", "))
	}
	for i, b := range bound.backends {
		if b == nil {
			bound.backends[i] = dibs.FailingBackend(fmt.Errorf("%w: the transaction is on the store %q, and the command is about the store %q",
				dibs.ErrUnsupported, joinable[0], r.parts[i].Name))
		}
	}
	return bound, nil
}

// backendOf returns the backend of a namespace. Any backend refuses a malformed namespace.
func (r *router) backendOf(namespace string) dibs.Backend {
	return r.backends[r.whole.PartOf(dibs.ScopeOf(namespace))]
}

// Apply decides commands and commits them, in the one part that all of them are about.
func (r *router) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	start := time.Now()
	part, refused := r.partOf(ctx, req.Principal, req.Commands)
	if refused != nil {
		if !req.DryRun && refused.Code != dibs.CodeUnavailable {
			r.cores[part].conflicts.note(refused, 0)
		}
		observeCommand(r.cores[part].cfg.Observer, req, start, refused)
		return nil, refused
	}
	results, err := r.backends[part].Apply(ctx, req)
	for _, result := range results {
		for _, n := range result.Names {
			r.cache.put(n.ID, n.Namespace)
		}
	}
	return results, err
}

func (r *router) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	return r.backendOf(req.Namespace).Check(ctx, req)
}

func (r *router) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	return r.backendOf(namespace).Resolve(ctx, namespace, value)
}

func (r *router) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	if lookup.ID.IsZero() {
		return r.backendOf(lookup.Namespace).Get(ctx, lookup)
	}
	found, err := r.locate(ctx, []dibs.ID{lookup.ID}, func(_ dibs.ID, namespace string) bool { return lookup.Sees(namespace) })
	if err != nil {
		return dibs.Name{}, err
	}
	part, _ := r.partWith(lookup.ID, found) // any part answers that there is no such name
	return r.backends[part].Get(ctx, lookup)
}

func (r *router) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	return r.backends[r.whole.PartOf(scope)].Entity(ctx, scope, entity)
}

func (r *router) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return r.backendOf(query.Namespace).History(ctx, query)
}

func (r *router) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	return r.backendOf(namespace).WhoHeld(ctx, namespace, value, at)
}

func (r *router) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	return r.backendOf(req.Namespace).Recanonicalize(ctx, req)
}

// Forget erases a person, or a name, in the part that has its scope.
func (r *router) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	if req.Namespace != "" || req.Value != "" {
		return r.backendOf(req.Namespace).Forget(ctx, req)
	}
	return r.backends[r.whole.PartOf(req.Scope)].Forget(ctx, req)
}

// Close closes all parts at once: a part that does not answer may take long.
func (r *router) Close() error {
	if r.IsBound() {
		return nil
	}
	_, err := ofAll(r, func(b dibs.Backend) (struct{}, error) { return struct{}{}, b.Close() })
	return errors.Join(err, r.whole.Close())
}
