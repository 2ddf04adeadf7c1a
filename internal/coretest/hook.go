package coretest

import (
	"context"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// CommitFunc commits the groups of one call of Commit.
type CommitFunc func() ([]dibs.Outcome, error)

// HookStore is a memstore that lets a test replace Commit, and counts commits. It is safe for
// concurrent use.
type HookStore struct {
	dibs.Store

	mu    sync.Mutex
	hook  func(commit CommitFunc) ([]dibs.Outcome, error)
	count int
}

// NewHookStore returns a store on a new memstore.
func NewHookStore() *HookStore {
	return &HookStore{Store: memstore.New(memstore.Config{})}
}

// OnCommit replaces Commit. The function may call commit for the engine's outcomes. Nil means the
// engine's Commit.
func (s *HookStore) OnCommit(fn func(commit CommitFunc) ([]dibs.Outcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = fn
}

// Answer makes every commit return this answer without committing.
func (s *HookStore) Answer(outcomes []dibs.Outcome, err error) {
	s.OnCommit(func(CommitFunc) ([]dibs.Outcome, error) { return outcomes, err })
}

// Block makes every commit wait until release is called.
func (s *HookStore) Block() (release func()) {
	released := make(chan struct{})
	s.OnCommit(func(commit CommitFunc) ([]dibs.Outcome, error) {
		<-released
		return commit()
	})
	return func() { close(released) }
}

// Commits returns how many commits were begun.
func (s *HookStore) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Commit counts the commit and calls the function of OnCommit.
func (s *HookStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.mu.Lock()
	fn := s.hook
	s.count++
	s.mu.Unlock()
	through := func() ([]dibs.Outcome, error) { return s.Store.Commit(ctx, groups) }
	if fn == nil {
		return through()
	}
	return fn(through)
}
