package routestore

import (
	"context"
	"errors"
	"iter"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

var (
	_ snapshot.Source = (*Store)(nil)
	_ snapshot.Source = (*part)(nil)

	_ snapshot.Renumberer = (*part)(nil)
)

// Snapshot takes a snapshot of each part, one after the other: every part is shown as of one moment, and
// the parts as of moments shortly after each other. A command never spans two parts.
func (s *Store) Snapshot(ctx context.Context) (snapshot.View, error) {
	return takeSnapshot(ctx, s.table, s.parts)
}

// Snapshot takes a snapshot of the part alone. Its cursors are those of the whole feed, in which the
// other parts are at their beginning.
func (p *part) Snapshot(ctx context.Context) (snapshot.View, error) {
	return takeSnapshot(ctx, p.table, []*part{p})
}

func takeSnapshot(ctx context.Context, t *table, parts []*part) (snapshot.View, error) {
	v := &view{table: t, parts: parts}
	for _, p := range parts {
		taken, err := leased(ctx, p, func() (snapshot.View, error) { return snapshot.Take(ctx, p.engine) })
		if err != nil {
			return nil, errors.Join(err, v.Close())
		}
		v.views = append(v.views, taken)
	}
	return v, nil
}

// view is a view of some parts.
type view struct {
	table *table
	parts []*part
	views []snapshot.View
}

// Now returns the latest of the parts' times.
func (v *view) Now() (now dibs.Instant) {
	for _, own := range v.views {
		now = max(now, own.Now())
	}
	return now
}

func (v *view) Latest() dibs.Cursor {
	at := make([]dibs.Cursor, len(v.table.names))
	for i, own := range v.views {
		at[v.parts[i].index] = own.Latest()
	}
	return v.table.encode(at)
}

func (v *view) Close() error {
	var errs []error
	for _, own := range v.views {
		errs = append(errs, own.Close())
	}
	return errors.Join(errs...)
}

func (v *view) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	return func(yield func(dibs.Record, error) bool) {
		all := make([]iter.Seq2[dibs.Record, error], len(v.views))
		for i, own := range v.views {
			all[i] = own.Records(ctx, table)
		}
		before := func(a, b dibs.Record) bool { return snapshot.CompareRefs(a.Ref(), b.Ref()) < 0 }
		merge(all, before, func(_ int, record dibs.Record, err error) bool { return yield(record, err) })
	}
}

// Events merges the events as [readFeed] does.
func (v *view) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return func(yield func(dibs.Event, error) bool) {
		at, err := v.table.decode(after)
		if err != nil {
			yield(dibs.Event{}, err)
			return
		}
		all := make([]iter.Seq2[dibs.Event, error], len(v.views))
		for i, own := range v.views {
			all[i] = own.Events(ctx, at[v.parts[i].index])
		}
		before := func(a, b dibs.Event) bool { return a.At < b.At }
		merge(all, before, func(i int, e dibs.Event, err error) bool {
			if !snapshot.Ends(err) {
				at[v.parts[i].index] = e.Cursor
				e.Cursor = v.table.encode(at)
			}
			return yield(e, err)
		})
	}
}

// Load reads each record in the part of its scope.
func (v *view) Load(ctx context.Context, refs []dibs.Ref) (records []dibs.Record, err error) {
	for i, own := range v.views {
		var mine []dibs.Ref
		for _, ref := range refs {
			if len(v.views) == 1 || v.table.partOf(ref.Scope) == v.parts[i].index {
				mine = append(mine, ref)
			}
		}
		found, err := own.Load(ctx, mine)
		if err != nil {
			return nil, err
		}
		records = append(records, found...)
	}
	return records, nil
}

// Counts returns what the parts count, if all of them do.
func (v *view) Counts(ctx context.Context) (all []dibs.NameCount, err error) {
	for _, own := range v.views {
		counter, ok := own.(interface {
			Counts(ctx context.Context) ([]dibs.NameCount, error)
		})
		if !ok {
			return nil, dibs.ErrUnsupported
		}
		counts, err := counter.Counts(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, counts...)
	}
	return all, nil
}

// CheckFile returns what the parts find wrong with their files, if they can check them.
func (v *view) CheckFile(ctx context.Context) (wrong []string, err error) {
	for _, own := range v.views {
		checker, ok := own.(interface {
			CheckFile(ctx context.Context) ([]string, error)
		})
		if !ok {
			continue
		}
		found, err := checker.CheckFile(ctx)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, found...)
	}
	return wrong, nil
}

// merge calls yield with the elements of several sequences, each of which is in order, until it returns
// false. Of equal elements that of the first sequence comes first. Errors come before elements; after one
// that ends its sequence, merge ends.
func merge[T any](all []iter.Seq2[T, error], before func(a, b T) bool, yield func(i int, element T, err error) bool) {
	type head struct {
		element T
		err     error
		ok      bool
	}
	heads, next := make([]head, len(all)), make([]func() (T, error, bool), len(all))
	for i, sequence := range all {
		pull, stop := iter.Pull2(sequence)
		defer stop()
		next[i] = pull
		heads[i].element, heads[i].err, heads[i].ok = pull()
	}
	for {
		first := -1
		for i, h := range heads {
			if h.ok && (first < 0 || h.err != nil || before(h.element, heads[first].element)) {
				first = i
			}
			if h.err != nil {
				break
			}
		}
		if first < 0 || !yield(first, heads[first].element, heads[first].err) || snapshot.Ends(heads[first].err) {
			return
		}
		heads[first].element, heads[first].err, heads[first].ok = next[first]()
	}
}

// StartAfter passes the part's own share of a cursor to its engine.
func (p *part) StartAfter(ctx context.Context, end dibs.Cursor) (dibs.Cursor, error) {
	engine, ok := p.engine.(snapshot.Renumberer)
	at, err := p.table.decode(end)
	if !ok || err != nil || at[p.index] == "" {
		return "", nil //nolint:nilerr // it is a cursor of other parts
	}
	return leased(ctx, p, func() (dibs.Cursor, error) { return engine.StartAfter(ctx, at[p.index]) })
}
