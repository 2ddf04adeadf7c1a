package coretest

import (
	"context"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// GatedStore is a memstore that lets a test replace Commit, and counts commits. It is safe for
// concurrent use.
type GatedStore struct {
	dibs.Store

	mu     sync.Mutex
	commit func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)
	count  int
}

// NewGatedStore returns a store on a new memstore.
func NewGatedStore() *GatedStore {
	return &GatedStore{Store: memstore.New(memstore.Config{})}
}

// Gate replaces what Commit does. The function may call commit for the engine's own outcomes. Nil
// lets commits through.
func (s *GatedStore) Gate(fn func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = fn
}

// Block makes every commit wait until release is called.
func (s *GatedStore) Block() (release func()) {
	gate := make(chan struct{})
	s.Gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
		<-gate
		return commit()
	})
	return func() { close(gate) }
}

// Commits returns how many commits were begun.
func (s *GatedStore) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Commit counts the commit and does what Gate says.
func (s *GatedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.mu.Lock()
	fn := s.commit
	s.count++
	s.mu.Unlock()
	through := func() ([]dibs.Outcome, error) { return s.Store.Commit(ctx, groups) }
	if fn == nil {
		return through()
	}
	return fn(through)
}
