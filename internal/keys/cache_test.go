package keys_test

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
	"github.com/calldibs/dibs/internal/keys"
	"github.com/calldibs/dibs/memstore"
)

// clock is the time of an engine and of a Ring, which moves when it is told to.
type clock struct {
	at    atomic.Int64
	store *counting
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.at.Add(1)) } // no two are alike
func (c *clock) advance(d time.Duration) { c.at.Add(d.Microseconds()) }

// counting counts loads, and fails when it is told to.
type counting struct {
	dibs.Store
	loads atomic.Int64

	mu       sync.Mutex
	err      error
	outcomes []dibs.Outcome
}

func (s *counting) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// answer lets the next commits do nothing, with these outcomes.
func (s *counting) answer(outcomes ...dibs.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = outcomes
}

func (s *counting) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *counting) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	s.loads.Add(1)
	if err := s.failure(); err != nil {
		return dibs.Snapshots{}, err
	}
	return s.Store.Load(ctx, refs)
}

func (s *counting) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	s.loads.Add(1)
	if err := s.failure(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, query)
}

func (s *counting) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.mu.Lock()
	var next []dibs.Outcome
	if len(s.outcomes) > 0 {
		next, s.outcomes = s.outcomes[:1], s.outcomes[1:]
	}
	s.mu.Unlock()
	if next != nil {
		return next, nil
	}
	return s.Store.Commit(ctx, groups)
}

// clockwork returns a Ring in memory, and its clock.
func clockwork(t *testing.T) (*keys.Ring, *clock) {
	t.Helper()
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	c.store = &counting{Store: memstore.New(memstore.Config{Now: c.now})}
	ring := keys.NewRing(c.store)
	ring.SetClock(c.now)
	return ring, c
}

// costs runs something and returns how many reads it took.
func (c *clock) costs(do func()) int64 {
	before := c.store.loads.Load()
	do()
	return c.store.loads.Load() - before
}

func TestFindRemembers(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	_, secret := create(t, ring, "shop")
	wrong := secret[:len(secret)-2] + "aa"
	find := func() {
		for range 100 {
			if _, err := ring.Find(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			wantUnknown(t, ring, wrong)
			if some, err := ring.Any(t.Context()); err != nil || !some {
				t.Fatal(some, err)
			}
		}
	}
	if n := clock.costs(find); n != 3 {
		t.Errorf("%d reads, want one for each question", n)
	}
	clock.advance(1100 * time.Millisecond)
	if n := clock.costs(find); n != 2 {
		t.Errorf("%d reads after a second, want two: misses and Any are not kept for longer", n)
	}
	clock.advance(4 * time.Second)
	if n := clock.costs(find); n != 3 {
		t.Errorf("%d reads after five seconds, want three", n)
	}
}

// A key that another process revokes works for up to five seconds, and no longer.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	_, secret := create(t, ring, "shop")
	if _, err := ring.Find(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := keys.NewRing(clock.store).Revoke(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	clock.advance(4900 * time.Millisecond)
	if _, err := ring.Find(t.Context(), secret); err != nil {
		t.Errorf("after 4.9 s: %v", err)
	}
	clock.advance(100 * time.Millisecond)
	wantUnknown(t, ring, secret)
}

// A key ends at its very millisecond, remembered or not.
func TestExpiry(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	end := clock.now().Add(3 * time.Second).Truncate(time.Millisecond)
	key, secret, err := ring.Create(t.Context(), keys.Key{Name: "shop", Grants: readers, ExpiresAt: end})
	if err != nil || !key.ExpiresAt.Equal(end) {
		t.Fatalf("%+v, %v", key, err)
	}
	clock.advance(2990 * time.Millisecond)
	for range 2 {
		if _, err := ring.Find(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(10 * time.Millisecond)
	wantUnknown(t, ring, secret)
	wantUnknown(t, keys.NewRing(clock.store), secret)
	// It is still there, and has its name, until it is revoked.
	if list, err := ring.List(t.Context()); err != nil || len(list) != 1 || !list[0].ExpiresAt.Equal(end) {
		t.Errorf("listed %+v, %v", list, err)
	}
	if _, _, err := ring.Create(t.Context(), keys.Key{Name: "shop", Grants: readers}); !errors.Is(err, keys.ErrNameTaken) {
		t.Errorf("created: %v", err)
	}
}

// Guesses do not push keys out of the cache, and neither grows without bounds.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	ring, clock := clockwork(t)
	_, secret := create(t, ring, "shop")
	if _, err := ring.Find(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for i := range keys.MaxKept + 50 {
		guess := "dibs_aaaaaaaa_" + strings.Repeat("a", 40) + code(i)
		wantUnknown(t, ring, guess)
	}
	found, misses := ring.Kept()
	if found != 1 || misses > keys.MaxKept {
		t.Errorf("%d keys and %d misses are kept", found, misses)
	}
	if n := clock.costs(func() { _, _ = ring.Find(t.Context(), secret) }); n != 0 {
		t.Errorf("the key was pushed out")
	}
	for i := range keys.MaxKept + 5 {
		_, secret := create(t, ring, fmt.Sprintf("k%d", i))
		if _, err := ring.Find(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if found, _ := ring.Kept(); found > keys.MaxKept {
		t.Errorf("%d keys are kept", found)
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

// Who revokes a key through a Ring never sees it used there afterwards, also if others
// ask at that very moment.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	ring := keys.NewRing(memstore.New(memstore.Config{}))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			name := fmt.Sprintf("k%d", i)
			for range 30 {
				_, secret, err := ring.Create(t.Context(), keys.Key{Name: name, Grants: readers})
				if err != nil {
					t.Error(err)
					return
				}
				var askers sync.WaitGroup
				for range 3 {
					askers.Go(func() {
						for range 10 {
							_, _ = ring.Find(t.Context(), secret)
							_, _ = ring.Any(t.Context())
						}
					})
				}
				if err := ring.Revoke(t.Context(), name); err != nil {
					t.Error(err)
				}
				wantUnknown(t, ring, secret)
				askers.Wait()
			}
		})
	}
	wg.Wait()
}
