package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// ofAll asks all parts at once. One that fails fails the whole: half an answer would look
// like a whole one.
func ofAll[T any](r *routed, question func(b dibs.Backend) (T, error)) ([]T, error) {
	answers, errs := make([]T, len(r.backends)), make([]error, len(r.backends))
	var asking sync.WaitGroup
	for i, b := range r.backends {
		asking.Go(func() { answers[i], errs[i] = question(b) })
	}
	asking.Wait()
	return answers, errors.Join(errs...)
}

// List returns a page of names. A cursor is a namespace and a canonical form, and so means
// the same in all parts.
func (r *routed) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	if query.Namespace != "" {
		return r.in(query.Namespace).List(ctx, query)
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
	slices.SortFunc(all.Names, func(a, b dibs.Name) int {
		x, y := positionOf(a), positionOf(b)
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Label, y.Label))
	})
	if limit := pageSize(query.Limit); len(all.Names) > limit {
		all.Names, more = all.Names[:limit], true
	}
	if more {
		all.Next = encodePosition(positionOf(all.Names[len(all.Names)-1]))
	}
	return all, nil
}

// positionOf returns where engines list a name. A forgotten one does not show what stands for
// its canonical form.
func positionOf(n dibs.Name) dibs.ListPosition {
	if n.Canonical == "" {
		return dibs.ListPosition{Namespace: n.Namespace, Label: rules.ForgottenLabel(n.ID)}
	}
	return dibs.ListPosition{Namespace: n.Namespace, Label: n.Canonical}
}

// Events returns a page of the feed, which has the events of all parts, or of the one that
// has the namespace.
func (r *routed) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if r.IsBound() {
		return dibs.EventPage{}, fmt.Errorf("%w: the feed of several stores inside a transaction on one of them", dibs.ErrUnsupported)
	}
	f := r.feed
	if query.Namespace != "" {
		f.store = r.parts[r.whole.PartOf(dibs.ScopeOf(query.Namespace))].Store // the others have nothing of it
	}
	return f.events(ctx, query, wait)
}

// Stats counts the names there are.
func (r *routed) Stats(ctx context.Context) (dibs.Stats, error) {
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

// Conflicts returns how many attempts were refused. What names no namespace, or one of too
// many, can be counted in several parts.
func (r *routed) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	lists, err := ofAll(r, func(b dibs.Backend) ([]dibs.ConflictBucket, error) { return b.Conflicts(ctx, query) })
	if err != nil {
		return nil, err
	}
	sums := make(map[string]dibs.ConflictBucket) // by label, which is also their order
	var labels []string
	for _, b := range slices.Concat(lists...) {
		label := rules.Tally{Namespace: b.Namespace, Reason: b.Reason, Hour: dibs.InstantOf(b.Start)}.Label()
		sum, known := sums[label]
		if !known {
			labels = append(labels, label)
		}
		b.Count += sum.Count
		sums[label] = b
	}
	slices.Sort(labels)
	var buckets []dibs.ConflictBucket
	for _, label := range labels {
		buckets = append(buckets, sums[label])
	}
	return buckets, nil
}

// Sweep sweeps one part after the other, beginning with another one each time, so that none
// of them always comes last. One that fails keeps nobody from sweeping the others.
func (r *routed) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
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
