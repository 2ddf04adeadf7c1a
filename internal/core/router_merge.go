package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/rules"
)

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
	var (
		all  dibs.NamesPage
		more bool
	)
	for _, page := range pages {
		all.Names = append(all.Names, page.Names...)
		more = more || page.Next != ""
	}
	slices.SortFunc(all.Names, func(a, b dibs.Name) int { return record.ComparePositions(positionOf(a), positionOf(b)) })
	if limit := pageSize(query.Limit); len(all.Names) > limit {
		all.Names, more = all.Names[:limit], true
	}
	if more {
		all.Next = encodePosition(positionOf(all.Names[len(all.Names)-1]))
	}
	return all, nil
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
	var (
		all  dibs.SweepReport
		errs error
	)
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
