// Package routestore distributes scopes over several engines or clusters, by pattern, so that
// capacity grows with the number of clusters:
//
//	store, err := routestore.Open(ctx, routestore.Config{Routes: []routestore.Route{
//		{Name: "eu", Scopes: []string{"acme.*", "globex"}, Store: eu},
//		{Name: "default", Scopes: []string{routestore.Everything}, Store: rest},
//	}})
//	registry, err := embedded.Open(store, dibs.Config{})
//
// A scope is in one part, and never split: entity commands always find all of their names. Each
// part has its own clock, writer and sweeper, and a slow or missing part does not delay commands
// for the others. Commands that would span two parts are refused.
//
// Every part stores the routes. A process that opens the parts with other routes stops all
// processes with the former ones, and fails if a name would be lost; see [Open].
package routestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/record"
)

// Store is a [dibs.Store] of several parts. It is safe for concurrent use. Make one with
// [Open].
//
// The registry uses each part on its own. Other users of the Store should do the same: a group
// that spans two parts is refused, and records of two parts that are loaded together are of two
// moments. Cursors of events are valid while the parts keep their names; the cursor of an event
// can change when events of other parts before it are purged.
type Store struct {
	table *table
	parts []*part

	stop    context.CancelFunc // ends background work
	working sync.WaitGroup
	closing sync.Once
	closed  error
}

var (
	_ dibs.Partitioned = (*Store)(nil)
	_ dibs.Binder      = (*Store)(nil)
	_ dibs.Pinger      = (*Store)(nil)
	_ dibs.Waker       = (*Store)(nil)
	_ dibs.Clock       = (*Store)(nil)
	_ dibs.Parallel    = (*Store)(nil)
	_ bisect.Seeker    = (*Store)(nil)
)

// Parts returns the parts in the order of the routes.
func (s *Store) Parts() []dibs.Part {
	parts := make([]dibs.Part, len(s.parts))
	for i, p := range s.parts {
		parts[i] = dibs.Part{Name: p.name(), Store: p.asStore()}
	}
	return parts
}

// PartOf returns the index of the part that has a scope.
func (s *Store) PartOf(scope string) int { return s.table.partOf(scope) }

// of returns the part that has a scope.
func (s *Store) of(scope string) *part { return s.parts[s.table.partOf(scope)] }

// defaultPart returns the part with all other scopes, and with records that have no scope.
func (s *Store) defaultPart() *part { return s.parts[s.table.defaultPart] }

// Load returns records, and the time of one of their parts.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	var all dibs.LoadResult
	for p, own := range s.byPart(refs) {
		found, err := p.Load(ctx, own)
		if err != nil {
			return dibs.LoadResult{}, err
		}
		all.Now = found.Now
		all.Records = append(all.Records, found.Records...)
	}
	return all, nil
}

// byPart groups refs by part. Without refs it returns the default part alone.
func (s *Store) byPart(refs []dibs.Ref) map[*part][]dibs.Ref {
	if len(refs) == 0 {
		return map[*part][]dibs.Ref{s.defaultPart(): nil}
	}
	byPart := make(map[*part][]dibs.Ref)
	for _, ref := range refs {
		p := s.of(ref.Scope)
		byPart[p] = append(byPart[p], ref)
	}
	return byPart
}

// Await waits for commits under way, in each part that has one of the records.
func (s *Store) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	for p, own := range s.byPart(refs) {
		if err := p.Await(ctx, own, end); err != nil {
			return err
		}
	}
	return nil
}

// Commit commits groups, each in its part.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	byPart := make(map[*part][]int)
	for i, g := range groups {
		p, err := s.partFor(g)
		if err != nil {
			return nil, err
		}
		byPart[p] = append(byPart[p], i)
	}
	if len(byPart) == 0 {
		return s.defaultPart().Commit(ctx, groups)
	}
	outcomes := make([]dibs.Outcome, len(groups))
	began := false
	for p, indexes := range byPart {
		own := make([]dibs.Group, len(indexes))
		for i, at := range indexes {
			own[i] = groups[at]
		}
		found, err := p.Commit(ctx, own)
		if err == nil && len(found) != len(own) {
			err = dibs.OutcomeUnknown(fmt.Errorf("the engine returned %d outcomes for %d groups", len(found), len(own)))
		}
		if err != nil && began {
			err = dibs.OutcomeUnknown(err) // another part may have committed its groups
		}
		if err != nil {
			return nil, err
		}
		for i, at := range indexes {
			outcomes[at] = found[i]
		}
		began = true
	}
	return outcomes, nil
}

// partFor returns the part of a group.
func (s *Store) partFor(g dibs.Group) (*part, error) {
	var scopes []string
	for _, read := range g.Reads {
		scopes = append(scopes, read.Ref.Scope)
	}
	for _, write := range g.Writes {
		scopes = append(scopes, write.Record.Ref().Scope)
	}
	for _, event := range slices.Concat(g.Events, g.Redacts) {
		scopes = append(scopes, event.Scope)
	}
	if len(scopes) == 0 {
		return s.defaultPart(), nil
	}
	first := s.of(scopes[0])
	for _, scope := range scopes {
		if p := s.of(scope); p != first {
			return nil, &dibs.Error{Code: dibs.CodeInvalidNamespace, Message: fmt.Sprintf(
				"the scopes %q and %q are in different parts (%q and %q), which cannot commit together",
				scopes[0], scope, first.name(), p.name())}
		}
	}
	return first, nil
}

// Owned returns the names of an entity, which are all in one part.
func (s *Store) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	return s.of(scope).Owned(ctx, scope, entity, limit)
}

// Events returns the events of all parts, merged.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return readFeed(ctx, s.table, s.parts, query)
}

// Latest returns the end of the feed, which is that of each part.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	return readEnd(ctx, s.table, s.parts)
}

// Seek returns the place of a date in the feed of each part.
func (s *Store) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return seek(ctx, s.table, s.parts, at)
}

// Close closes all parts. Closing twice is allowed.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.working.Wait()
		_, s.closed = ofEach(s.parts, func(p *part) (struct{}, error) { return struct{}{}, p.engine.Close() })
	})
	return s.closed
}

// ofEach calls a function for all parts at once. It returns all errors.
func ofEach[T any](parts []*part, call func(p *part) (T, error)) ([]T, error) {
	answers, errs := make([]T, len(parts)), make([]error, len(parts))
	var calls sync.WaitGroup
	for i, p := range parts {
		calls.Go(func() {
			if answers[i], errs[i] = call(p); errs[i] != nil && len(parts) > 1 {
				errs[i] = fmt.Errorf("part %q: %w", p.name(), errs[i])
			}
		})
	}
	calls.Wait()
	return answers, errors.Join(errs...)
}

// Due returns refs of records that are due in any part, earliest first. It loads the records,
// since refs have no dates.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	var due []dibs.Ref
	dates := make(map[dibs.Ref]dibs.Instant)
	for _, p := range s.parts {
		refs, err := p.Due(ctx, limit)
		if err != nil {
			return nil, err
		}
		found, err := p.Load(ctx, refs)
		if err != nil {
			return nil, err
		}
		for _, r := range found.Records {
			dates[r.Ref()] = record.Due(r)
		}
		due = append(due, refs...)
	}
	slices.SortStableFunc(due, func(a, b dibs.Ref) int { return cmp.Compare(dates[a], dates[b]) })
	return due[:min(limit, len(due))], nil
}

// List returns records of one kind, of all parts, in the order of their labels.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if query.Kind == dibs.KindName && query.Namespace != "" {
		return s.of(dibs.ScopeOf(query.Namespace)).List(ctx, query)
	}
	var all []dibs.Record
	for _, p := range s.parts {
		records, err := p.List(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	slices.SortStableFunc(all, func(a, b dibs.Record) int {
		if query.DueBefore != 0 {
			return cmp.Compare(record.Due(a), record.Due(b))
		}
		return record.ComparePositions(record.Position(a), record.Position(b))
	})
	return all[:min(query.Limit, len(all))], nil
}

// Count adds up the counts of all parts. No two of them have names of the same namespace.
func (s *Store) Count(ctx context.Context, soon dibs.Instant) (all dibs.Stats, err error) {
	for _, p := range s.parts {
		stats, err := p.Count(ctx, soon)
		if err != nil {
			return dibs.Stats{}, err
		}
		all.Names = append(all.Names, stats.Names...)
		all.EndingSoon += stats.EndingSoon
	}
	return all, nil
}

// Ping fails if no part answers: a store with one working part still serves its scopes.
func (s *Store) Ping(ctx context.Context) error {
	answers := make(chan error, len(s.parts))
	for _, p := range s.parts {
		go func() { answers <- p.Ping(ctx) }()
	}
	var errs []error
	for range s.parts {
		err := <-answers
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Wake returns a channel that receives when another process may have committed in any part.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	woken := make(chan struct{}, 1)
	for _, p := range s.parts {
		if own := p.Wake(ctx); own != nil {
			go forward(ctx, own, woken)
		}
	}
	return woken
}

// forward copies the signals of one channel to another until the context ends.
func forward(ctx context.Context, from <-chan struct{}, to chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-from:
			select {
			case to <- struct{}{}:
			default: // a signal is pending
			}
			if !open {
				return
			}
		}
	}
}

// Now estimates the clock of a single part. Several have no common clock; see [Store.Parts].
func (s *Store) Now() (dibs.Instant, bool) {
	if len(s.parts) > 1 {
		return 0, false
	}
	return s.parts[0].Now()
}

// Writers returns how many batches the registry should commit at once in the default part.
func (s *Store) Writers() int { return s.defaultPart().Writers() }

// Bind binds a single part to a caller's transaction. Of several, the registry binds the part of
// the transaction.
func (s *Store) Bind(bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	if len(s.parts) > 1 {
		return nil, fmt.Errorf("%w: several parts cannot join one transaction", dibs.ErrUnsupported)
	}
	return s.parts[0].Bind(bind)
}
