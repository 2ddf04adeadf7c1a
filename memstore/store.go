// Package memstore is the reference engine: [dibs.Store] in memory, written to be
// obviously right. It is the one to use in tests, and the one to compare other
// engines with.
//
// It is not durable: everything is gone with the process, and also with
// [Store.Close]. It serves one process only.
package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

var (
	_ dibs.Store = (*Store)(nil)
	_ dibs.Clock = (*Store)(nil)
)

// Config says how a Store works. The zero Config is a good one.
type Config struct {
	// Now is the engine's clock. Nil means [time.Now].
	Now func() time.Time
}

// Store keeps records and events in memory. It is safe for concurrent use.
//
// One mutex guards everything, so each call sees and makes one moment. What is
// stored is never changed in place and shares nothing with what callers hold, so
// it can be copied out after the mutex is given back.
type Store struct {
	now func() time.Time

	mu      sync.Mutex
	closed  bool
	records map[key]dibs.Record
	owned   map[owner]map[dibs.ID]*dibs.NameRecord // names that entities own now
	due     map[key]dibs.Instant                   // records that have a Due date
	listing listing
	feed    feed
}

// key is what identifies a record. The scope is no part of it.
type key struct {
	kind dibs.Kind
	id   dibs.ID
}

func keyOf(ref dibs.Ref) key { return key{ref.Kind, ref.ID} }

// owner is an entity in its scope.
type owner struct {
	scope  string
	entity dibs.Entity
}

// New returns an empty store.
func New(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{
		now:     cfg.Now,
		records: make(map[key]dibs.Record),
		owned:   make(map[owner]map[dibs.ID]*dibs.NameRecord),
		due:     make(map[key]dibs.Instant),
		listing: newListing(),
		feed:    newFeed(),
	}
}

// Now returns the engine's time, which is known at any moment.
func (s *Store) Now() (dibs.Instant, bool) { return dibs.InstantOf(s.now()), true }

// enter takes the mutex for one call, unless the call must not happen.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return dibs.Unavailable(dibs.ErrClosed)
	}
	return nil
}

// Load returns the records that exist among refs, and the time.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if err := s.enter(ctx); err != nil {
		return dibs.Snapshots{}, err
	}
	snapshots := dibs.Snapshots{Now: dibs.InstantOf(s.now())}
	for _, ref := range refs {
		if record, ok := s.records[keyOf(ref)]; ok {
			snapshots.Records = append(snapshots.Records, record)
		}
	}
	s.mu.Unlock()

	copyRecords(snapshots.Records)
	return snapshots, nil
}

// Await waits until no Commit is under way, and the clock has come to end: a Commit has the
// mutex from before it looks at the clock until it is done.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.mu.TryLock() {
			closed, passed := s.closed, dibs.InstantOf(s.now()) >= end
			s.mu.Unlock()
			switch {
			case closed:
				return dibs.Unavailable(dibs.ErrClosed)
			case passed:
				return nil
			}
		}
		_ = backoff.Sleep(ctx, time.Millisecond) // the loop checks the context
	}
}

// Due returns refs of records whose Due date is reached, earliest first.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	now := dibs.InstantOf(s.now())
	var reached []key
	for k, date := range s.due {
		if date <= now {
			reached = append(reached, k)
		}
	}
	slices.SortFunc(reached, func(a, b key) int {
		return cmp.Or(
			cmp.Compare(s.due[a], s.due[b]),
			cmp.Compare(a.kind, b.kind),
			slices.Compare(a.id[:], b.id[:]),
		)
	})
	reached = reached[:min(limit, len(reached))]
	refs := make([]dibs.Ref, len(reached))
	for i, k := range reached {
		refs[i] = s.records[k].Ref()
	}
	return refs, nil
}

// Owned returns an entity's active names and aliases in the order of their keys.
func (s *Store) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var names []*dibs.NameRecord
	for _, name := range s.owned[owner{scope, entity}] {
		names = append(names, name)
	}
	s.mu.Unlock()

	slices.SortFunc(names, func(a, b *dibs.NameRecord) int {
		return positionOf(a).compare(positionOf(b))
	})
	names = names[:min(limit, len(names))]
	for i, name := range names {
		names[i] = copyName(name)
	}
	return names, nil
}

// List returns records of one kind in the order of their labels. Entities have
// no label, and are not listed.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	records := s.listing.page(query, s.records)
	s.mu.Unlock()

	copyRecords(records)
	return records, nil
}

// Events returns events behind a cursor. A cursor is the decimal position of its
// event in a sequence that only grows, so it stays good when events go away.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.feed.page(query)
}

// Latest returns the cursor of the newest event that there ever was.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	return s.feed.end(), nil
}

// Close drops everything. It never fails, and may be called again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.records, s.owned, s.due = nil, nil, nil
	s.listing, s.feed = listing{}, feed{}
	return nil
}
