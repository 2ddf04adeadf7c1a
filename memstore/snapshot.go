package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/snapshot"
)

var (
	_ snapshot.Source     = (*Store)(nil)
	_ snapshot.Renumberer = (*Store)(nil)
)

// Snapshot copies the addresses of all records, which are never changed in place, and all events.
func (s *Store) Snapshot(ctx context.Context) (snapshot.View, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	v := &view{now: dibs.InstantOf(s.now()), records: make(map[key]dibs.Record, len(s.records))}
	maps.Copy(v.records, s.records)
	v.counts = record.Counts(s.counts)
	v.feed.last, v.feed.start = s.feed.last, s.feed.start
	for _, e := range s.feed.all {
		if !e.deleted {
			v.feed.all = append(v.feed.all, &entry{position: e.position, event: e.event})
		}
	}
	return v, nil
}

// view is a copy of the store.
type view struct {
	now     dibs.Instant
	records map[key]dibs.Record
	counts  []dibs.NameCount
	feed    feed
}

func (v *view) Now() dibs.Instant { return v.now }

func (v *view) Latest() dibs.Cursor { return v.feed.end() }

func (v *view) Close() error { return nil }

// Counts returns how many names the store counted.
func (v *view) Counts(context.Context) ([]dibs.NameCount, error) { return v.counts, nil }

func (v *view) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	return func(yield func(dibs.Record, error) bool) {
		var refs []dibs.Ref
		for k := range v.records {
			if snapshot.TableOf(k.kind) == table {
				refs = append(refs, dibs.Ref{Kind: k.kind, ID: k.id})
			}
		}
		slices.SortFunc(refs, snapshot.CompareRefs)
		for _, ref := range refs {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(copyRecord(v.records[keyOf(ref)]), nil) {
				return
			}
		}
	}
}

func (v *view) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return snapshot.Pages(func(last *dibs.Event) ([]dibs.Event, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		query := dibs.EventQuery{After: after, Limit: snapshot.PageSize}
		if last != nil {
			query.After = last.Cursor
		}
		return v.feed.page(query)
	})
}

func (v *view) Load(ctx context.Context, refs []dibs.Ref) (records []dibs.Record, _ error) {
	for _, ref := range refs {
		if r, ok := v.records[keyOf(ref)]; ok {
			records = append(records, copyRecord(r))
		}
	}
	return records, ctx.Err()
}

// StartAfter makes positions begin behind those of another feed.
func (s *Store) StartAfter(ctx context.Context, end dibs.Cursor) (dibs.Cursor, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	position, err := strconv.ParseUint(string(end), 10, 64)
	if err != nil {
		return "", nil // of another kind of engine
	}
	s.feed.last, s.feed.start = max(s.feed.last, position+1), position
	return end, nil
}
