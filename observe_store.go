package dibs

import "context"

// observedStore tells of the calls of an engine.
type observedStore struct {
	Store
	observer Observer
}

// observeStore returns the engine, and tells of its calls if anybody wants to know. What
// else the engine can do is asked of [unobserved].
func observeStore(store Store, observer Observer) Store {
	if !traces(&observer) {
		return store
	}
	return &observedStore{store, observer}
}

// unobserved returns the engine itself.
func unobserved(store Store) Store {
	if o, ok := store.(*observedStore); ok {
		return o.Store
	}
	return store
}

func (s *observedStore) begin(ctx context.Context, op string, size int) (context.Context, func(error)) {
	return beginWork(ctx, &s.observer, Work{Kind: WorkEngine, Op: op, Size: size})
}

func (s *observedStore) Load(ctx context.Context, refs []Ref) (Snapshots, error) {
	ctx, end := s.begin(ctx, "load", len(refs))
	snapshots, err := s.Store.Load(ctx, refs)
	end(err)
	return snapshots, err
}

func (s *observedStore) Commit(ctx context.Context, groups []Group) ([]Outcome, error) {
	ctx, end := s.begin(ctx, "commit", len(groups))
	outcomes, err := s.Store.Commit(ctx, groups)
	end(err)
	return outcomes, err
}

func (s *observedStore) Await(ctx context.Context, refs []Ref, end Instant) error {
	ctx, done := s.begin(ctx, "await", len(refs))
	err := s.Store.Await(ctx, refs, end)
	done(err)
	return err
}

func (s *observedStore) Owned(ctx context.Context, scope string, entity Entity, limit int) ([]*NameRecord, error) {
	ctx, end := s.begin(ctx, "owned", limit)
	names, err := s.Store.Owned(ctx, scope, entity, limit)
	end(err)
	return names, err
}

func (s *observedStore) Due(ctx context.Context, limit int) ([]Ref, error) {
	ctx, end := s.begin(ctx, "due", limit)
	refs, err := s.Store.Due(ctx, limit)
	end(err)
	return refs, err
}

func (s *observedStore) List(ctx context.Context, query ListQuery) ([]Record, error) {
	ctx, end := s.begin(ctx, "list", query.Limit)
	records, err := s.Store.List(ctx, query)
	end(err)
	return records, err
}

func (s *observedStore) Events(ctx context.Context, query EventQuery) ([]Event, error) {
	ctx, end := s.begin(ctx, "events", query.Limit)
	events, err := s.Store.Events(ctx, query)
	end(err)
	return events, err
}

func (s *observedStore) Latest(ctx context.Context) (Cursor, error) {
	ctx, end := s.begin(ctx, "latest", 1)
	cursor, err := s.Store.Latest(ctx)
	end(err)
	return cursor, err
}
