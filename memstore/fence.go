package memstore

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

var _ dibs.Fencer = (*Store)(nil)

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
