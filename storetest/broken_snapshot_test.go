package storetest

import (
	"context"
	"iter"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

// brokenView is a view of which some methods are replaced.
type brokenView struct {
	snapshot.View
	records func(record dibs.Record) (dibs.Record, bool)
	events  func(event dibs.Event) (dibs.Event, bool)
	close   func()
}

func (v *brokenView) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	return changed(v.View.Records(ctx, table), v.records)
}

func (v *brokenView) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return changed(v.View.Events(ctx, after), v.events)
}

func (v *brokenView) Close() error {
	if v.close != nil {
		v.close()
	}
	return v.View.Close()
}

// changed returns the elements as a function makes them, without those that it drops.
func changed[T any](elements iter.Seq2[T, error], change func(T) (T, bool)) iter.Seq2[T, error] {
	if change == nil {
		return elements
	}
	return func(yield func(T, error) bool) {
		for element, err := range elements {
			keep := true
			if err == nil {
				element, keep = change(element)
			}
			if keep && !yield(element, err) {
				return
			}
		}
	}
}

// showing breaks the views of a store.
func showing(breaks func(f *fake, v *brokenView)) breakage {
	return func(f *fake, _ *Clock) {
		good := f.snapshot
		f.snapshot = func(ctx context.Context) (snapshot.View, error) {
			view, err := good(ctx)
			if err != nil {
				return nil, err
			}
			v := &brokenView{View: view}
			breaks(f, v)
			return v, nil
		}
	}
}

// shownPresent is a view of the present, not of one moment.
type shownPresent struct {
	snapshot.View
	f *fake
}

func (p shownPresent) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	view, err := snapshot.Take(ctx, p.f.data.(*disk).Store)
	if err != nil {
		return func(yield func(dibs.Record, error) bool) { yield(nil, err) }
	}
	return view.Records(ctx, table)
}

func brokenSnapshots() []broken {
	return []broken{
		{must: "snapshot-records", how: "without free names", apply: showing(func(_ *fake, v *brokenView) {
			v.records = func(r dibs.Record) (dibs.Record, bool) {
				n, ok := r.(*dibs.NameRecord)
				return r, !ok || n.State != dibs.Free
			}
		})},
		{must: "snapshot-records", how: "loses spent tokens", apply: showing(func(_ *fake, v *brokenView) {
			v.records = func(r dibs.Record) (dibs.Record, bool) {
				if n, ok := r.(*dibs.NameRecord); ok {
					n.Spent = nil
				}
				return r, true
			}
		})},
		{must: "snapshot-records", how: "only the kinds that it knows", apply: showing(func(_ *fake, v *brokenView) {
			v.records = func(r dibs.Record) (dibs.Record, bool) { return r, r.Ref().Kind != "storetest" }
		})},
		{must: "snapshot-events", how: "without those of entities", apply: showing(func(_ *fake, v *brokenView) {
			v.events = func(e dibs.Event) (dibs.Event, bool) { return e, !e.ID.IsZero() }
		})},
		{must: "snapshot-events", how: "with other cursors", apply: showing(func(_ *fake, v *brokenView) {
			v.events = func(e dibs.Event) (dibs.Event, bool) {
				e.Cursor += "0"
				return e, true
			}
		})},
		{must: "snapshot-moment", how: "records of the present", apply: func(f *fake, _ *Clock) {
			good := f.snapshot
			f.snapshot = func(ctx context.Context) (snapshot.View, error) {
				view, err := good(ctx)
				return shownPresent{view, f}, err
			}
		}},
		{must: "snapshot-writers", how: "no commit while it is open", apply: showing(func(f *fake, v *brokenView) {
			good := f.commit
			f.commit = func(context.Context, []dibs.Group) ([]dibs.Outcome, error) {
				return nil, dibs.Unavailable(context.DeadlineExceeded)
			}
			v.close = sync.OnceFunc(func() { f.commit = good })
		})},
		{must: "snapshot-closed", how: "reads after Close", apply: func(f *fake, _ *Clock) {
			good := f.before
			f.before = func(ctx context.Context, method string) (context.Context, error) {
				if method == "Snapshot" {
					return ctx, nil
				}
				return good(ctx, method)
			}
		}},
	}
}
