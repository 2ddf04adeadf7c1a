package core

import (
	"context"

	"github.com/calldibs/dibs"
)

// observedStore is an engine whose calls are reported to an observer.
type observedStore struct {
	dibs.Store
	observer dibs.Observer
}

// observeStore returns the engine itself, or observedStore if the observer traces. Use
// [unobserved] to find optional interfaces of the engine.
func observeStore(store dibs.Store, observer dibs.Observer) dibs.Store {
	if !traces(&observer) {
		return store
	}
	return &observedStore{store, observer}
}

// unobserved returns the engine itself.
func unobserved(store dibs.Store) dibs.Store {
	if o, ok := store.(*observedStore); ok {
		return o.Store
	}
	return store
}

func (s *observedStore) begin(ctx context.Context, op string, size int) (context.Context, func(error)) {
	return beginWork(ctx, &s.observer, dibs.Work{Kind: dibs.WorkEngine, Op: op, Size: size})
}

func (s *observedStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	ctx, end := s.begin(ctx, "load", len(refs))
	loaded, err := s.Store.Load(ctx, refs)
	end(err)
	return loaded, err
}

func (s *observedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	ctx, end := s.begin(ctx, "commit", len(groups))
	outcomes, err := s.Store.Commit(ctx, groups)
	end(err)
	return outcomes, err
}

func (s *observedStore) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	ctx, done := s.begin(ctx, "await", len(refs))
	err := s.Store.Await(ctx, refs, end)
	done(err)
	return err
}

func (s *observedStore) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	ctx, end := s.begin(ctx, "owned", limit)
	names, err := s.Store.Owned(ctx, scope, entity, limit)
	end(err)
	return names, err
}

func (s *observedStore) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	ctx, end := s.begin(ctx, "due", limit)
	refs, err := s.Store.Due(ctx, limit)
	end(err)
	return refs, err
}

func (s *observedStore) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	ctx, end := s.begin(ctx, "list", query.Limit)
	records, err := s.Store.List(ctx, query)
	end(err)
	return records, err
}

func (s *observedStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	ctx, end := s.begin(ctx, "events", query.Limit)
	events, err := s.Store.Events(ctx, query)
	end(err)
	return events, err
}

func (s *observedStore) Latest(ctx context.Context) (dibs.Cursor, error) {
	ctx, end := s.begin(ctx, "latest", 1)
	cursor, err := s.Store.Latest(ctx)
	end(err)
	return cursor, err
}
