package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/internal/wake"
)

// router is the embedded backend. It has a core for each part of the store, nearly always one,
// and sends each call about a scope to the core of that scope, so batches never mix engines. It
// sends calls about all scopes to all parts and merges the answers. It
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
func on[Q, A any](
	ctx context.Context, r *router, part int, work dibs.Work, do func(*core, context.Context, Q) (A, error), q Q,
) (answer A, err error) {
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
				r.cores[part].noteRefusal(refused, 0)
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

// ofAll asks all parts at once, and reports the call. If a part fails, ofAll fails: a partial
// answer would look like a complete one.
func ofAll[T any](ctx context.Context, r *router, work dibs.Work, question func(context.Context, *core) (T, error)) ([]T, error) {
	ctx, end := beginWork(ctx, r.observer, work)
	answers, errs := make([]T, len(r.parts)), make([]error, len(r.parts))
	var asking sync.WaitGroup
	for i := range r.parts {
		c, err := r.coreOf(i)
		if err != nil {
			errs[i] = err
			continue
		}
		asking.Go(func() { answers[i], errs[i] = question(ctx, c) })
	}
	asking.Wait()
	err := errors.Join(errs...)
	end(err)
	return answers, err
}

// List returns a page of names. A cursor is a namespace and a canonical form, so it has the
// same meaning in all parts.
func (r *router) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	work := callWork("list", query.Namespace, 0)
	if query.Namespace != "" || !r.hasSeveral() {
		return on(ctx, r, r.partFor(query.Namespace), work, (*core).List, query)
	}
	pages, err := ofAll(ctx, r, work, func(ctx context.Context, c *core) (dibs.NamesPage, error) { return c.List(ctx, query) })
	if err != nil {
		return dibs.NamesPage{}, err
	}
	if query.EndingWithin != 0 {
		return mergeEnding(pages, pageSize(query.Limit, defaultPage)), nil
	}
	var all dibs.NamesPage
	var more bool
	for _, page := range pages {
		all.Names = append(all.Names, page.Names...)
		more = more || page.Next != ""
	}
	slices.SortFunc(all.Names, func(a, b dibs.Name) int { return record.ComparePositions(positionOf(a), positionOf(b)) })
	if limit := pageSize(query.Limit, defaultPage); len(all.Names) > limit {
		all.Names, more = all.Names[:limit], true
	}
	if more {
		all.Next = encodePosition(positionOf(all.Names[len(all.Names)-1]))
	}
	return all, nil
}

// mergeEnding merges lists of holds by their end.
func mergeEnding(pages []dibs.NamesPage, limit int) (all dibs.NamesPage) {
	for _, page := range pages {
		all.Names = append(all.Names, page.Names...)
	}
	slices.SortStableFunc(all.Names, func(a, b dibs.Name) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	all.Names = all.Names[:min(limit, len(all.Names))]
	return all
}

// positionOf returns the position of a name in the lists of engines. A forgotten name has no
// canonical form, and a label in its place.
func positionOf(n dibs.Name) dibs.ListPosition {
	if n.Canonical == "" {
		return dibs.ListPosition{Namespace: n.Namespace, Label: rules.ForgottenLabel(n.ID)}
	}
	return dibs.ListPosition{Namespace: n.Namespace, Label: n.Canonical}
}

// Events returns a page of the feed: the events of all parts, or of the part that has the
// namespace. A call that waits is not work, and not reported.
func (r *router) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	f := r.feed
	switch {
	case r.IsBound() && r.hasSeveral():
		return dibs.EventPage{}, fmt.Errorf("%w: the feed of several stores inside a transaction of the caller, which is on one of them", dibs.ErrUnsupported)
	case r.IsBound() && wait: // it does not see commits of others
		return dibs.EventPage{}, r.tx.refuseBound("waiting for events")
	case r.IsBound():
		f.store = r.tx.store
	case query.Namespace != "" || !r.hasSeveral():
		f.store = r.cores[r.partFor(query.Namespace)].store // only this part has events of the namespace
	}
	if wait {
		return f.events(ctx, query, true)
	}
	ctx, end := beginWork(ctx, r.observer, callWork("events", query.Namespace, 0))
	page, err := f.events(ctx, query, false)
	end(err)
	return page, err
}

// Stats counts all names that are not free.
func (r *router) Stats(ctx context.Context) (dibs.Stats, error) {
	list, err := ofAll(ctx, r, callWork("stats", "", 0), func(ctx context.Context, c *core) (dibs.Stats, error) { return c.Stats(ctx) })
	if err != nil {
		return dibs.Stats{}, err
	}
	var all dibs.Stats
	for _, s := range list {
		all.Names = append(all.Names, s.Names...)
		all.EndingSoon += s.EndingSoon
	}
	slices.SortFunc(all.Names, compareCounts)
	return all, nil
}

// Conflicts returns how many attempts were refused, and why. Several parts can have counters
// without a namespace, and overflow counters, so counters with one label are added up.
func (r *router) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	work := callWork("conflicts", query.Namespace, 0)
	lists, err := ofAll(ctx, r, work, func(ctx context.Context, c *core) ([]dibs.ConflictBucket, error) { return c.Conflicts(ctx, query) })
	if err != nil {
		return nil, err
	}
	sums := make(map[string]dibs.ConflictBucket) // by label, which is also their order
	for _, b := range slices.Concat(lists...) {
		label := rules.Tally{Namespace: b.Namespace, Reason: b.Reason, Hour: dibs.InstantOf(b.Start)}.Label()
		b.Count += sums[label].Count
		sums[label] = b
	}
	var buckets []dibs.ConflictBucket
	for _, label := range slices.Sorted(maps.Keys(sums)) {
		buckets = append(buckets, sums[label])
	}
	return buckets, nil
}

// Activity returns how much happened. Several parts can have overflow counters, and counters of
// entities, so counters of one namespace and span are added up.
func (r *router) Activity(ctx context.Context, query dibs.ActivityQuery) (dibs.Activity, error) {
	work := callWork("activity", query.Namespace, 0)
	if query.Namespace != "" || !r.hasSeveral() {
		return on(ctx, r, r.partFor(query.Namespace), work, (*core).Activity, query)
	}
	list, err := ofAll(ctx, r, work, func(ctx context.Context, c *core) (dibs.Activity, error) { return c.Activity(ctx, query) })
	if err != nil {
		return dibs.Activity{}, err
	}
	return mergeActivity(list), nil
}

// Sweep sweeps one part after the other. Each call begins with the next part, so that none is
// always last. A part that fails does not keep the others from being swept.
func (r *router) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	work := callWork("sweep", "", limit)
	if r.IsBound() || !r.hasSeveral() {
		return on(ctx, r, r.anyPart(), work, (*core).Sweep, limit)
	}
	start := time.Now()
	ctx, end := beginWork(ctx, r.observer, work)
	first := int(r.sweeps.Add(1))
	var all dibs.SweepReport
	var errs error
	for i := range r.cores {
		if all.Looked >= limit {
			all.More = true
			break
		}
		report, err := r.cores[(first+i)%len(r.cores)].Sweep(ctx, limit-all.Looked)
		errs = errors.Join(errs, err)
		all.Looked += report.Looked
		all.Changed += report.Changed
		all.Suspects += report.Suspects
		all.Settled += report.Settled
		all.More = all.More || report.More
	}
	all.Took = time.Since(start)
	end(errs)
	return all, errs
}
