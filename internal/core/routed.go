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
)

// routed is the embedded backend over a store of several parts: a core for each, and
// whatever is about one scope goes to its core. So batches never mix engines. What is about
// all of them is asked of each and put together, see routed_read.go.
type routed struct {
	whole    dibs.Partitioned
	parts    []dibs.Part
	backends []dibs.Backend // of the parts: cores, unless it is bound to a transaction
	bound    int            // the part that a transaction of the caller's is on, or -1

	cores    []*core // of the parts, which may not see what a transaction does
	policies *atomic.Pointer[policySet]
	observer dibs.Observer
	where    *partCache
	feed     feed
	sweeps   atomic.Uint32
}

var _ dibs.EmbeddedBackend = (*routed)(nil)

func openRouted(whole dibs.Partitioned, cfg dibs.Config, shared *atomic.Pointer[policySet]) *routed {
	defaults := withConfigDefaults(cfg, whole)
	commits := newBroadcast()
	r := &routed{
		whole: whole, parts: whole.Parts(), bound: -1,
		policies: shared, observer: cfg.Observer, where: &partCache{}, feed: feed{whole, shared, commits, defaults.PollEvery},
	}
	for _, part := range r.parts {
		own := withConfigDefaults(cfg, part.Store)
		own.Logger = own.Logger.With("part", part.Name)
		c := openCore(part.Store, own, shared, commits)
		r.backends, r.cores = append(r.backends, c), append(r.cores, c)
	}
	return r
}

// SetPolicies replaces all policies.
func (r *routed) SetPolicies(byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	return setPolicies(r.policies, byNamespace, fallback)
}

// Policy returns the policy of a namespace.
func (r *routed) Policy(namespace string) (dibs.Policy, error) {
	return policyOf(r.policies, namespace)
}

// CheckPolicies says whether policies can replace the present ones.
func (r *routed) CheckPolicies(ctx context.Context, byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	return checkPolicies(ctx, r.whole, byNamespace, fallback)
}

// IsBound reports whether the backend is bound to a transaction of the caller's.
func (r *routed) IsBound() bool { return r.bound >= 0 }

// InTransaction binds the one part that the transaction can be on. Commands about other
// parts are refused: they would not commit with it.
func (r *routed) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	bound := &routed{
		whole: r.whole, parts: r.parts, bound: -1,
		cores: r.cores, policies: r.policies, observer: r.observer, where: r.where,
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
		return nil, fmt.Errorf("%w: the transaction could be on any of the stores %s, and nobody can tell which: "+
			"with routes only one store of an engine can take part in transactions of your own", dibs.ErrUnsupported, strings.Join(joinable, ", "))
	}
	for i, b := range bound.backends {
		if b == nil {
			bound.backends[i] = dibs.FailingBackend(fmt.Errorf("%w: this transaction is on the store %q, and what the command is about is in %q",
				dibs.ErrUnsupported, joinable[0], r.parts[i].Name))
		}
	}
	return bound, nil
}

// in returns the backend of a namespace. One that is not well-formed is refused by any.
func (r *routed) in(namespace string) dibs.Backend {
	return r.backends[r.whole.PartOf(dibs.ScopeOf(namespace))]
}

// Apply decides commands and commits them, in the one part that all of them are about.
func (r *routed) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	start := time.Now()
	part, err := r.partOf(ctx, req.Principal, req.Commands)
	if err != nil {
		if !req.DryRun && err.Code != dibs.CodeUnavailable {
			r.cores[part].conflicts.note(err, 0)
		}
		observeCommand(r.observer, req, start, err)
		return nil, err
	}
	results, fail := r.backends[part].Apply(ctx, req)
	r.where.note(results, part)
	return results, fail
}

// Check says whether values could be reserved.
func (r *routed) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	return r.in(req.Namespace).Check(ctx, req)
}

// Resolve says where a name leads.
func (r *routed) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	return r.in(namespace).Resolve(ctx, namespace, value)
}

// Get returns one name.
func (r *routed) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	if lookup.ID.IsZero() {
		return r.in(lookup.Namespace).Get(ctx, lookup)
	}
	found, err := r.locate(ctx, []dibs.ID{lookup.ID}, func(_ dibs.ID, namespace string) bool { return lookup.Sees(namespace) })
	if err != nil {
		return dibs.Name{}, err
	}
	at, known := found[lookup.ID]
	if !known {
		at.part = r.whole.PartOf("") // which says that there is none
	}
	return r.backends[at.part].Get(ctx, lookup)
}

// Entity returns an entity with its names.
func (r *routed) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	return r.backends[r.whole.PartOf(scope)].Entity(ctx, scope, entity)
}

// History returns a page of the events of a name.
func (r *routed) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return r.in(query.Namespace).History(ctx, query)
}

// WhoHeld returns who had a name at a moment.
func (r *routed) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	return r.in(namespace).WhoHeld(ctx, namespace, value, at)
}

// Recanonicalize brings the names of a namespace under its present rules.
func (r *routed) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	return r.in(req.Namespace).Recanonicalize(ctx, req)
}

// Forget erases a person, or a name, in the part that has its scope.
func (r *routed) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	if req.Namespace != "" || req.Value != "" {
		return r.in(req.Namespace).Forget(ctx, req)
	}
	return r.backends[r.whole.PartOf(req.Scope)].Forget(ctx, req)
}

// Close closes all parts at once: one that is gone may take its time.
func (r *routed) Close() error {
	if r.IsBound() {
		return nil
	}
	errs := make([]error, len(r.backends))
	var closing sync.WaitGroup
	for i, b := range r.backends {
		closing.Go(func() { errs[i] = b.Close() })
	}
	closing.Wait()
	return errors.Join(errors.Join(errs...), r.whole.Close())
}
