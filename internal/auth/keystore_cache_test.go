package auth_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/memstore"
)

// clock is a clock that a test advances.
type clock struct{ micros atomic.Int64 }

func newClock(start time.Time) *clock {
	c := &clock{}
	c.micros.Store(start.UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Add(1)) } // no two are equal
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// testStore is a store in memory that counts reads, and fails on demand.
type testStore struct {
	dibs.Store
	*clock
	reads atomic.Int64

	mu       sync.Mutex
	err      error
	outcomes []dibs.Outcome
}

// failReads makes reads fail with an error, or succeed again.
func (s *testStore) failReads(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// skipCommits makes the next commits do nothing and return these outcomes.
func (s *testStore) skipCommits(outcomes ...dibs.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = outcomes
}

// read counts a read, and returns the error that it fails with.
func (s *testStore) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads.Add(1)
	return s.err
}

func (s *testStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if err := s.read(); err != nil {
		return dibs.LoadResult{}, err
	}
	return s.Store.Load(ctx, refs)
}

func (s *testStore) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, query)
}

func (s *testStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.mu.Lock()
	if len(s.outcomes) > 0 {
		defer s.mu.Unlock()
		next := s.outcomes[:1]
		s.outcomes = s.outcomes[1:]
		return next, nil
	}
	s.mu.Unlock()
	return s.Store.Commit(ctx, groups)
}

// newTestStore returns a KeyStore and the store below it. They share a clock.
func newTestStore() (*auth.KeyStore, *testStore) {
	c := newClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	store := &testStore{clock: c, Store: memstore.New(memstore.Config{Now: c.now})}
	keys := auth.NewKeyStore(store)
	keys.SetClock(c.now)
	return keys, store
}

// readsOf runs a function and returns how many reads it made.
func (s *testStore) readsOf(do func()) int64 {
	before := s.reads.Load()
	do()
	return s.reads.Load() - before
}

func TestFindIsCached(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	_, secret := create(t, keys, "shop")
	wrong := secret[:len(secret)-2] + "aa"
	find := func() {
		for range 100 {
			wantFound(t, keys, secret)
			wantUnknown(t, keys, wrong)
			if some, err := keys.Any(t.Context()); err != nil || !some {
				t.Fatal(some, err)
			}
		}
	}
	if n := store.readsOf(find); n != 3 {
		t.Errorf("%d reads, want one for each kind", n)
	}
	store.advance(1100 * time.Millisecond)
	if n := store.readsOf(find); n != 2 {
		t.Errorf("%d reads after a second, want two: misses and Any are cached for a second", n)
	}
	store.advance(4 * time.Second)
	if n := store.readsOf(find); n != 3 {
		t.Errorf("%d reads after five seconds, want three", n)
	}
}

// A key that another process revokes works for up to five seconds.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	_, secret := create(t, keys, "shop")
	wantFound(t, keys, secret)
	if err := auth.NewKeyStore(store).Revoke(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	store.advance(4900 * time.Millisecond)
	wantFound(t, keys, secret)
	store.advance(100 * time.Millisecond)
	wantUnknown(t, keys, secret)
}

// A key expires at its exact millisecond, cached or not.
func TestExpiry(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	end := store.now().Add(3 * time.Second).Truncate(time.Millisecond)
	key, secret, err := keys.Create(t.Context(), auth.Key{Name: "shop", Grants: readers, ExpiresAt: end})
	if err != nil || !key.ExpiresAt.Equal(end) {
		t.Fatalf("%+v, %v", key, err)
	}
	store.advance(2990 * time.Millisecond)
	for range 2 {
		wantFound(t, keys, secret)
	}
	store.advance(10 * time.Millisecond)
	wantUnknown(t, keys, secret)
	wantUnknown(t, auth.NewKeyStore(store), secret)
	// It keeps its name until it is revoked.
	if list, err := keys.List(t.Context()); err != nil || len(list) != 1 || !list[0].ExpiresAt.Equal(end) {
		t.Errorf("listed %+v, %v", list, err)
	}
	if _, _, err := keys.Create(t.Context(), auth.Key{Name: "shop", Grants: readers}); !errors.Is(err, auth.ErrKeyNameTaken) {
		t.Errorf("created: %v", err)
	}
}

// Guesses do not evict keys from the cache, and the cache is bounded.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	keys, store := newTestStore()
	_, secret := create(t, keys, "shop")
	wantFound(t, keys, secret)
	for i := range auth.MaxCached + 50 {
		guess := "dibs_aaaaaaaa_" + strings.Repeat("a", 40) + code(i)
		wantUnknown(t, keys, guess)
	}
	found, misses := keys.Cached()
	if found != 1 || misses > auth.MaxCached {
		t.Errorf("%d keys and %d misses are cached", found, misses)
	}
	if n := store.readsOf(func() { _, _ = keys.Find(t.Context(), secret) }); n != 0 {
		t.Error("the key was evicted")
	}
	for i := range auth.MaxCached + 5 {
		_, secret := create(t, keys, fmt.Sprintf("k%d", i))
		wantFound(t, keys, secret)
	}
	if found, _ := keys.Cached(); found > auth.MaxCached {
		t.Errorf("%d keys are cached", found)
	}
}

// code returns a number in four letters.
func code(n int) string {
	b := []byte("aaaa")
	for i := range b {
		b[i], n = byte('a'+n%26), n/26
	}
	return string(b)
}

// After Revoke, Find does not return the key, even if others call Find at the same time.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	keys := auth.NewKeyStore(memstore.New(memstore.Config{}))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			name := fmt.Sprintf("k%d", i)
			for range 30 {
				_, secret, err := keys.Create(t.Context(), auth.Key{Name: name, Grants: readers})
				if err != nil {
					t.Error(err)
					return
				}
				var askers sync.WaitGroup
				for range 3 {
					askers.Go(func() {
						for range 10 {
							_, _ = keys.Find(t.Context(), secret)
							_, _ = keys.Any(t.Context())
						}
					})
				}
				if err := keys.Revoke(t.Context(), name); err != nil {
					t.Error(err)
				}
				wantUnknown(t, keys, secret)
				askers.Wait()
			}
		})
	}
	wg.Wait()
}
