package memstore

import (
	"context"
	"strconv"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

var _ record.Fencer = (*Store)(nil)

// Fence makes every later Commit fail. A Commit holds the mutex until it is done, so none is in
// progress.
func (s *Store) Fence(ctx context.Context, place string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.put(record.NewFence(place))
	return nil
}

// Unfence allows commits again.
func (s *Store) Unfence(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.remove(record.FenceRef)
	return nil
}

// ContinueAfter numbers later events far behind a cursor of another store, of which this empty one
// becomes a copy. A reader with any cursor of that store then gets all events here.
func (s *Store) ContinueAfter(ctx context.Context, cursor dibs.Cursor) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	position, err := strconv.ParseUint(string(cursor), 10, 64)
	if err != nil {
		return dibs.ErrBadCursor
	}
	s.feed.last = max(s.feed.last, position+1<<32)
	return nil
}
