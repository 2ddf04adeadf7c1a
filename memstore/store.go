// Package memstore is the reference engine: a simple [dibs.Store] in memory. Use it in tests, and
// to compare other engines with it.
//
// It is not durable: the data is lost with the process, and with [Store.Close]. It serves one
// process only.
package memstore

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/record"
)

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ bisect.Seeker = (*Store)(nil)
)

// Config holds a store's settings. The zero Config is usable.
type Config struct {
	// Now is the engine's clock. Nil means [time.Now].
	Now func() time.Time
}

// Store keeps records and events in memory. It is safe for concurrent use.
//
// One mutex guards everything, so each call is atomic. Stored records are never changed in
// place and share nothing with those of callers, so they are copied after the mutex is
// released.
type Store struct {
	now func() time.Time

	mu      sync.Mutex
	closed  bool
	records map[key]dibs.Record
	owned   map[owner]map[dibs.ID]*dibs.NameRecord // names that entities own now
	due     dates
	counts  map[dibs.NameCount]int // of names that are not free; the keys have no Count
	feed    feed

	listings map[dibs.Kind][]listed // sorted ones; see [Store.listing]
}

// key identifies a record. The scope is not a part of it.
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
		due:     dates{of: make(map[key]dibs.Instant)},
		counts:  make(map[dibs.NameCount]int),
		feed:    feed{byName: make(map[dibs.ID][]*entry)},

		listings: make(map[dibs.Kind][]listed),
	}
}

// Now returns the engine's time.
func (s *Store) Now() (dibs.Instant, bool) { return dibs.InstantOf(s.now()), true }

// enter takes the mutex for a call, unless its context has ended or the store is closed.
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
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if err := s.enter(ctx); err != nil {
		return dibs.LoadResult{}, err
	}
	result := dibs.LoadResult{Now: dibs.InstantOf(s.now())}
	for _, ref := range refs {
		if r, ok := s.records[keyOf(ref)]; ok {
			result.Records = append(result.Records, r)
		}
	}
	s.mu.Unlock()

	copyRecords(result.Records)
	return result, nil
}

// Await waits until no Commit is under way and the clock has reached end. A Commit holds the
// mutex from before it reads the clock until it is done.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.mu.TryLock() {
			closed, reached := s.closed, dibs.InstantOf(s.now()) >= end
			s.mu.Unlock()
			switch {
			case closed:
				return dibs.Unavailable(dibs.ErrClosed)
			case reached:
				return nil
			}
		}
		_ = backoff.Sleep(ctx, time.Millisecond)
	}
}

// Due returns refs of records whose Due date is reached, earliest first.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	reached := s.due.until(dibs.InstantOf(s.now()), limit)
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
	names := slices.SortedFunc(maps.Values(s.owned[owner{scope, entity}]), func(a, b *dibs.NameRecord) int {
		return record.ComparePositions(record.Position(a), record.Position(b))
	})
	s.mu.Unlock()

	names = names[:min(limit, len(names))]
	for i, name := range names {
		names[i] = copyRecord(name).(*dibs.NameRecord)
	}
	return names, nil
}

// List returns records of one kind in the order of their labels. Entities have none, and are
// not listed.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	records := s.page(query)
	s.mu.Unlock()

	copyRecords(records)
	return records, nil
}

// Count counts the names that are not free, and the held ones that are due soon.
func (s *Store) Count(ctx context.Context, soon dibs.Instant) (stats dibs.Stats, err error) {
	if err := s.enter(ctx); err != nil {
		return stats, err
	}
	defer s.mu.Unlock()

	for _, k := range s.due.until(soon, math.MaxInt) {
		if n, ok := s.records[k].(*dibs.NameRecord); ok && record.EndsSoon(n, soon) {
			stats.EndingSoon++
		}
	}
	stats.Names = record.Counts(s.counts)
	return stats, nil
}

// listed is a record in a listing.
type listed struct {
	position dibs.ListPosition
	key      key
}

// listing returns the records of one kind by position. It sorts them once, and again after a
// record was added or removed.
func (s *Store) listing(kind dibs.Kind) []listed {
	all, ok := s.listings[kind]
	if ok || kind == dibs.KindEntity {
		return all
	}
	for k, r := range s.records {
		if k.kind == kind {
			all = append(all, listed{record.Position(r), k})
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return record.ComparePositions(a.position, b.position) })
	s.listings[kind] = all
	return all
}

// ending returns the held names that are due before an instant, earliest first.
func (s *Store) ending(query dibs.ListQuery) (page []dibs.Record) {
	for _, k := range s.due.until(query.DueBefore-1, math.MaxInt) {
		n, ok := s.records[k].(*dibs.NameRecord)
		if ok && n.State == dibs.Held && (query.Namespace == "" || query.Namespace == n.Namespace) && len(page) < query.Limit {
			page = append(page, n)
		}
	}
	return page
}

// page returns the records that a query selects.
func (s *Store) page(query dibs.ListQuery) (page []dibs.Record) {
	if query.DueBefore != 0 {
		return s.ending(query)
	}
	all := s.listing(query.Kind)
	if query.After != nil {
		i, found := slices.BinarySearchFunc(all, *query.After, func(e listed, after dibs.ListPosition) int {
			return record.ComparePositions(e.position, after)
		})
		if found {
			i++
		}
		all = all[i:]
	}
	for _, e := range all {
		if len(page) >= query.Limit {
			break
		}
		if r := s.records[e.key]; record.IsSelected(query, r) {
			page = append(page, r)
		}
	}
	return page
}

// Events returns events behind a cursor, which is the decimal position of an event. Positions
// only grow, so a cursor stays valid when events are deleted.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.feed.page(query)
}

// Latest returns the cursor of the newest event ever.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	return s.feed.end(), nil
}

// Seek returns the cursor just before a date.
func (s *Store) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return bisect.Feed(ctx, s, at, bisect.Numbers)
}

// Close drops all data. It never fails, and may be called again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.records, s.owned, s.due, s.counts, s.listings, s.feed = nil, nil, dates{}, nil, nil, feed{}
	return nil
}
