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

// ofAll asks all parts at once. If one fails, ofAll fails: a partial answer would look like a
// complete one.
func ofAll[T any](r *router, question func(b dibs.Backend) (T, error)) ([]T, error) {
	answers, errs := make([]T, len(r.backends)), make([]error, len(r.backends))
	var asking sync.WaitGroup
	for i, b := range r.backends {
		asking.Go(func() { answers[i], errs[i] = question(b) })
	}
	asking.Wait()
	return answers, errors.Join(errs...)
}

// List returns a page of names. A cursor is a namespace and a canonical form, so it has the
// same meaning in all parts.
func (r *router) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	if query.Namespace != "" {
		return r.backendOf(query.Namespace).List(ctx, query)
	}
	pages, err := ofAll(r, func(b dibs.Backend) (dibs.NamesPage, error) { return b.List(ctx, query) })
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
// namespace.
func (r *router) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if r.IsBound() {
		return dibs.EventPage{}, fmt.Errorf("%w: the feed of several stores inside a transaction of the caller, which is on one of them", dibs.ErrUnsupported)
	}
	f := r.feed
	if query.Namespace != "" {
		f.store = r.parts[r.whole.PartOf(dibs.ScopeOf(query.Namespace))].Store // only this part has events of the namespace
	}
	return f.events(ctx, query, wait)
}

// Stats counts all names that are not free.
func (r *router) Stats(ctx context.Context) (dibs.Stats, error) {
	list, err := ofAll(r, func(b dibs.Backend) (dibs.Stats, error) { return b.Stats(ctx) })
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
	lists, err := ofAll(r, func(b dibs.Backend) ([]dibs.ConflictBucket, error) { return b.Conflicts(ctx, query) })
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
	if r.IsBound() {
		return r.backends[r.bound].Sweep(ctx, limit)
	}
	start := time.Now()
	first := int(r.sweeps.Add(1))
	var (
		all  dibs.SweepReport
		errs error
	)
	for i := range r.backends {
		if all.Looked >= limit {
			all.More = true
			break
		}
		report, err := r.backends[(first+i)%len(r.backends)].Sweep(ctx, limit-all.Looked)
		errs = errors.Join(errs, err)
		all.Looked += report.Looked
		all.Changed += report.Changed
		all.Suspects += report.Suspects
		all.Settled += report.Settled
		all.More = all.More || report.More
	}
	all.Took = time.Since(start)
	return all, errs
}
