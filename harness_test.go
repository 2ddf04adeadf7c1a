package dibs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

var wedding = dibs.Entity{Type: "wedding", ID: "42"}

// openMem opens a registry on a fresh memstore by the machine's clock, which inside
// a synctest bubble is the bubble's.
func openMem(t *testing.T, cfg dibs.Config) *dibs.Registry {
	t.Helper()
	return mustOpen(t, memstore.New(memstore.Config{}), cfg)
}

func mustReserve(t *testing.T, reg *dibs.Registry, value string) dibs.Hold {
	t.Helper()
	hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value})
	if err != nil {
		t.Fatalf("Reserve %s: %v", value, err)
	}
	return hold
}

func stateOf(t *testing.T, reg *dibs.Registry, value string) dibs.State {
	t.Helper()
	name, err := reg.Get(context.WithoutCancel(t.Context()), dibs.Lookup{Namespace: "slug", Value: value})
	if err != nil {
		t.Fatalf("Get %s: %v", value, err)
	}
	return name.State
}

// gatedStore lets a test decide what becomes of each commit.
type gatedStore struct {
	dibs.Store

	mu     sync.Mutex
	commit func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)
	count  int
}

func newGatedStore() *gatedStore {
	return &gatedStore{Store: memstore.New(memstore.Config{})}
}

// gate replaces what Commit does; nil lets commits through.
func (s *gatedStore) gate(fn func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = fn
}

func (s *gatedStore) commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *gatedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
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

const minute = time.Minute
