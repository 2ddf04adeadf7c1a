package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// busyStore is a memstore some of whose names a transaction of somebody else holds.
type busyStore struct {
	dibs.Store

	mu    sync.Mutex
	held  map[dibs.ID]bool
	tries int // groups that were called busy
}

func newBusyStore() *busyStore {
	return &busyStore{Store: memstore.New(memstore.Config{}), held: make(map[dibs.ID]bool)}
}

// hold begins the transaction of somebody else on names of slug.
func (s *busyStore) hold(values ...string) (release func()) {
	set := func(held bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, value := range values {
			s.held[dibs.NameID("slug", value)] = held
		}
	}
	set(true)
	return func() { set(false) }
}

func (s *busyStore) busy(group dibs.Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := slices.ContainsFunc(group.Reads, func(r dibs.Read) bool { return s.held[r.Ref.ID] })
	if held {
		s.tries++
	}
	return held
}

func (s *busyStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	for i, group := range groups {
		if s.busy(group) {
			outcomes[i] = dibs.Busy
			continue
		}
		found, err := s.Store.Commit(ctx, groups[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes[i] = found[0]
	}
	return outcomes, nil
}

// pending demands that a command has not been answered.
func pending(t *testing.T, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("answered %v while the name is held", err)
	default:
	}
}

// Who wants a name that somebody else's transaction holds waits for it, and nobody
// else does.
func TestBusyHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newBusyStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		coretest.MustReserve(t, reg, "first") // the namespace has its floor
		release := store.hold("busy")
		busy := reserveAsync(t.Context(), reg, "busy", "")
		pending(t, busy)
		start := time.Now()
		for i := range 100 {
			coretest.MustReserve(t, reg, fmt.Sprint("name-", i))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("others were held up for %v", took)
		}
		time.Sleep(10 * time.Second) // in the bubble: many tries later
		pending(t, busy)
		if store.tries < 50 || store.tries > 250 {
			t.Errorf("it was tried %d times in ten seconds", store.tries)
		}
		start = time.Now()
		release()
		if err := <-busy; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 150*time.Millisecond {
			t.Errorf("it was answered %v after its time", took)
		}
	})
}

// When it is over the command is decided anew: the other transaction may have taken
// the name. All who wait for it are answered.
func TestBusyIsDecidedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newBusyStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		release := store.hold("busy")
		var waiting []<-chan error
		for range 20 {
			waiting = append(waiting, reserveAsync(t.Context(), reg, "busy", ""))
		}
		synctest.Wait()
		other := coretest.MustOpen(t, store.Store, dibs.Config{}) // whose transaction it was
		coretest.MustReserve(t, other, "busy")
		release()
		for _, done := range waiting {
			if err := <-done; !errors.Is(err, dibs.ErrNameTaken) {
				t.Errorf("got %v, want NAME_TAKEN", err)
			}
		}
	})
}

// Those in a batch who rest on a busy command wait with it; those whose group was stale
// are decided again, and not parked.
func TestBusyTakesItsGroupAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := coretest.NewSpy(t)
		f.Must(coretest.Claim("slug", "calm", coretest.User3))
		steps := 0
		got := coretest.Together(t, f, s, func(groups []dibs.Group) ([]dibs.Outcome, error) {
			if steps++; steps == 1 {
				return []dibs.Outcome{dibs.Busy, dibs.Stale}, nil
			}
			return nil, nil
		}, nil,
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User1)},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User2)}, // rests on the first
			[]dibs.Command{coretest.Claim("slug", "y", dibs.Entity{Type: "team", ID: "1"})},
		)
		if (got[0].Err == nil) == (got[1].Err == nil) || got[2].Err != nil {
			t.Errorf("got %v, %v and %v; one of the first two should have the name", got[0].Err, got[1].Err, got[2].Err)
		}
		if steps != 3 {
			t.Errorf("the batch took %d commits, want one for each outcome", steps)
		}
	})
}

// A caller who leaves while the command is parked knows that nothing happened, and
// nothing does.
func TestBusyUntilTheCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newBusyStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		release := store.hold("busy")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "busy"})
		if !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want UNAVAILABLE caused by the context", err)
		}
		release()
		time.Sleep(time.Minute) // in the bubble
		if _, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "busy"}); !errors.Is(err, dibs.ErrNotFound) {
			t.Errorf("what was withdrawn happened: %v", err)
		}
	})
}

// A caller who leaves during the attempt cannot tell; the command is not tried again
// behind its back.
func TestBusyAfterTheCallerLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		gate := make(chan struct{})
		store.Gate(func(func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
			<-gate
			return []dibs.Outcome{dibs.Busy}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := reserveAsync(ctx, reg, "busy", "")
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("got %v, want OUTCOME_UNKNOWN", err)
		}
		close(gate)
		synctest.Wait()
		store.Gate(nil)
		time.Sleep(time.Minute) // in the bubble
		if n := store.Commits(); n != 1 {
			t.Errorf("it was tried %d times", n)
		}
	})
}

func TestBusyWhenTheRegistryCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newBusyStore()
		reg, err := core.Open(store, dibs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		store.hold("busy")
		done := reserveAsync(t.Context(), reg, "busy", "")
		pending(t, done)
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, dibs.ErrClosed) {
			t.Errorf("got %v, want UNAVAILABLE caused by ErrClosed", err)
		}
	})
}

// However many want a name that is held, a bounded number of them waits.
func TestBusyIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newBusyStore()
		reg := coretest.MustOpen(t, store, dibs.Config{QueueSize: 4, MaxBatch: 2})
		coretest.MustReserve(t, reg, "first")
		release := store.hold("busy")
		var (
			waiting sync.WaitGroup
			mu      sync.Mutex
			failed  = make(map[string]int)
		)
		for range 50 {
			waiting.Go(func() {
				_, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "busy"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					failed["won"]++
				case errors.Is(err, dibs.ErrNameTaken):
					failed["taken"]++
				case errors.Is(err, dibs.ErrUnavailable) && strings.Contains(err.Error(), "too many"):
					failed["crowded"]++
				default:
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		coretest.MustReserve(t, reg, "other")
		release()
		waiting.Wait()
		if failed["won"] != 1 || failed["taken"] != 3 || failed["crowded"] != 46 {
			t.Errorf("%v, want one that won, and as many who waited as the queue has room for", failed)
		}
	})
}

// In a transaction of the caller's own nothing waits: that transaction would hold up
// others meanwhile.
func TestBusyInATransaction(t *testing.T) {
	t.Parallel()
	store := newBusyStore()
	reg := coretest.MustOpen(t, store, dibs.Config{})
	bound := reg.InTransaction(func(s dibs.Store) (dibs.Store, error) { return s, nil })
	release := store.hold("busy")
	_, err := bound.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "busy"})
	if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "another transaction") {
		t.Errorf("got %v, want UNAVAILABLE that says why", err)
	}
	release()
	coretest.MustReserve(t, bound, "busy")
}

// A sweep does not wait for a transaction of somebody else: it goes on with the rest.
func TestSweepPassesByWhatIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newBusyStore()
		reg, err := core.Open(store, dibs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reg.Close() }()
		for _, value := range []string{"a", "b", "c"} {
			if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value, TTL: dibs.For(time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		release := store.hold("b")
		if report, err := reg.Sweep(t.Context(), 100); err != nil || report.Changed != 2 {
			t.Errorf("with one held: %+v, %v, want 2 changed", report, err)
		}
		release()
		if report, err := reg.Sweep(t.Context(), 100); err != nil || report.Changed != 1 {
			t.Errorf("with none held: %+v, %v, want 1 changed", report, err)
		}
	})
}
