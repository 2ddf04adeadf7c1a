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
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// busyStore is a memstore that answers Busy for names that a foreign transaction holds.
type busyStore struct {
	dibs.Store

	mu    sync.Mutex
	held  map[dibs.ID]bool
	tries int // groups whose outcome was Busy
}

// openBusy opens a registry on a busyStore.
func openBusy(t *testing.T, cfg dibs.Config) (*dibs.Registry, *busyStore) {
	t.Helper()
	store := &busyStore{Store: memstore.New(memstore.Config{}), held: make(map[dibs.ID]bool)}
	return coretest.MustOpen(t, store, cfg), store
}

// hold begins a foreign transaction on names of slug.
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

// pending checks that a command has not been answered.
func pending(t *testing.T, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("answered %v while the name is held", err)
	default:
	}
}

// A command about a name that a foreign transaction holds waits for it. Other commands do not wait.
func TestBlockedRequestDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store := openBusy(t, dibs.Config{})
		coretest.MustReserve(t, reg, "first") // writes the namespace record
		release := store.hold("busy")
		busy := reserveAsync(t.Context(), reg, "busy", "")
		pending(t, busy)
		start := time.Now()
		for i := range 100 {
			coretest.MustReserve(t, reg, fmt.Sprint("name-", i))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("other commands were delayed by %v", took)
		}
		time.Sleep(10 * time.Second) // in the bubble: many retries later
		pending(t, busy)
		if store.tries < 50 || store.tries > 250 {
			t.Errorf("%d tries in ten seconds", store.tries)
		}
		start = time.Now()
		release()
		if err := <-busy; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 150*time.Millisecond {
			t.Errorf("it was answered %v after the release", took)
		}
	})
}

// After the foreign transaction the command is decided again: the transaction may have taken the name.
// All waiting callers get an answer.
func TestBlockedRequestIsDecidedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store := openBusy(t, dibs.Config{})
		release := store.hold("busy")
		var waiting []<-chan error
		for range 20 {
			waiting = append(waiting, reserveAsync(t.Context(), reg, "busy", ""))
		}
		synctest.Wait()
		other := coretest.MustOpen(t, store.Store, dibs.Config{}) // the owner of the foreign transaction
		coretest.MustReserve(t, other, "busy")
		release()
		for _, done := range waiting {
			if err := <-done; !errors.Is(err, dibs.ErrNameTaken) {
				t.Errorf("got %v, want NAME_TAKEN", err)
			}
		}
	})
}

// Requests that depend on a busy one are blocked with it. Requests of a stale group are decided again
// at once.
func TestBlockedGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := coretest.NewSpy(t, nil)
		f.Must(coretest.Claim("slug", "calm", coretest.User3))
		steps := 0
		got := coretest.InOneBatch(f, s, func(groups []dibs.Group) ([]dibs.Outcome, error) {
			if steps++; steps == 1 {
				return []dibs.Outcome{dibs.Busy, dibs.Stale}, nil
			}
			return nil, nil
		}, nil,
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User1)},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User2)}, // depends on the first
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

// A caller that leaves while its command is blocked gets the answer that nothing happened, and the command stays without effect.
func TestBlockedUntilTheCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store := openBusy(t, dibs.Config{})
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
			t.Errorf("the withdrawn command happened: %v", err)
		}
	})
}

// For a caller that leaves during the commit the outcome is unknown. The command is not retried
// afterwards.
func TestBusyAfterTheCallerLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewHookStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		release := make(chan struct{})
		store.OnCommit(func(coretest.CommitFunc) ([]dibs.Outcome, error) {
			<-release
			return []dibs.Outcome{dibs.Busy}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := reserveAsync(ctx, reg, "busy", "")
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("got %v, want OUTCOME_UNKNOWN", err)
		}
		close(release)
		synctest.Wait()
		store.OnCommit(nil)
		time.Sleep(time.Minute) // in the bubble
		if n := store.Commits(); n != 1 {
			t.Errorf("%d commits, want 1", n)
		}
	})
}

func TestBlockedWhenTheRegistryCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store := openBusy(t, dibs.Config{})
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

// The number of blocked requests is bounded.
func TestBlockedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store := openBusy(t, dibs.Config{QueueSize: 4, MaxBatch: 2})
		coretest.MustReserve(t, reg, "first")
		release := store.hold("busy")
		var (
			waiting sync.WaitGroup
			mu      sync.Mutex
			count   = make(map[string]int)
		)
		for range 50 {
			waiting.Go(func() {
				_, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "busy"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					count["won"]++
				case errors.Is(err, dibs.ErrNameTaken):
					count["taken"]++
				case errors.Is(err, dibs.ErrUnavailable) && strings.Contains(err.Error(), "too many"):
					count["rejected"]++
				default:
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		coretest.MustReserve(t, reg, "other")
		release()
		waiting.Wait()
		if count["won"] != 1 || count["taken"] != 3 || count["rejected"] != 46 {
			t.Errorf("%v, want one that won, and as many blocked requests as the queue has room for", count)
		}
	})
}

// In a transaction of the caller nothing is blocked: that transaction would delay others meanwhile.
func TestBusyInATransaction(t *testing.T) {
	t.Parallel()
	reg, store := openBusy(t, dibs.Config{})
	bound := reg.InTransaction(func(s dibs.Store) (dibs.Store, error) { return s, nil })
	release := store.hold("busy")
	_, err := bound.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "busy"})
	if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "another transaction") {
		t.Errorf("got %v, want UNAVAILABLE that says why", err)
	}
	release()
	coretest.MustReserve(t, bound, "busy")
}

// A sweep does not wait for a foreign transaction. It continues with the other records.
func TestSweepSkipsBusyNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store := openBusy(t, dibs.Config{})
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
