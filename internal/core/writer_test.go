package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
)

// reserveAsync reserves a name in the background. The channel gets the error.
func reserveAsync(ctx context.Context, reg *dibs.Registry, value, token string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: value, Token: token})
		done <- err
	}()
	return done
}

// openBlocked opens a registry on a store whose commits wait for release.
func openBlocked(t *testing.T, cfg dibs.Config) (reg *dibs.Registry, store *coretest.HookStore, release func()) {
	t.Helper()
	store = coretest.NewHookStore()
	return coretest.MustOpen(t, store, cfg), store, store.Block()
}

// noErrors waits for calls that must succeed.
func noErrors(t *testing.T, calls []<-chan error) {
	t.Helper()
	for _, done := range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Requests that arrive while a commit is under way are committed together.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, store, release := openBlocked(t, dibs.Config{})
		var waiting []<-chan error
		for i := range 100 {
			waiting = append(waiting, reserveAsync(t.Context(), reg, fmt.Sprint("name-", i), ""))
		}
		synctest.Wait()
		release()
		noErrors(t, waiting)
		if n := store.Commits(); n > 3 {
			t.Errorf("100 callers took %d commits", n)
		}
	})
}

// A caller that leaves while its request is in the queue withdraws it.
func TestCallerLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _, release := openBlocked(t, dibs.Config{})
		first := reserveAsync(t.Context(), reg, "first", "")
		synctest.Wait() // it is in a batch that waits for its commit

		ctx, cancel := context.WithCancel(t.Context())
		second := reserveAsync(ctx, reg, "second", "")
		synctest.Wait() // it is in the queue
		cancel()
		err := <-second
		if !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.Canceled) || errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("got %v, want UNAVAILABLE caused by the context", err)
		}
		release()
		noErrors(t, []<-chan error{first})
		synctest.Wait()
		if _, err := reg.Get(context.Background(), dibs.Lookup{Namespace: "slug", Value: "second"}); !errors.Is(err, dibs.ErrNotFound) {
			t.Errorf("the withdrawn request happened: %v", err)
		}
	})
}

// For a caller that leaves while its batch commits the outcome is unknown. The same token finds it out.
func TestCallerLeavesABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _, release := openBlocked(t, dibs.Config{})
		token := dibs.NewToken()
		ctx, cancel := context.WithCancel(t.Context())
		done := reserveAsync(ctx, reg, "alice-bob", token)
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, dibs.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want OUTCOME_UNKNOWN caused by the context", err)
		}
		release()
		hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "alice-bob", Token: token})
		if err != nil || !hold.Replayed {
			t.Fatalf("the same token = %+v, %v; want the hold, replayed", hold, err)
		}
	})
}

// A caller that has left must not access its request: the writer still decides it. The race detector
// would report it.
func TestWriterKeepsTheRequestOfACallerThatLeft(t *testing.T) {
	t.Parallel()
	store := coretest.NewHookStore()
	reg := coretest.MustOpen(t, store, dibs.Config{})
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	store.OnCommit(func(commit coretest.CommitFunc) ([]dibs.Outcome, error) {
		if !first {
			return commit()
		}
		first = false
		close(entered)
		<-release
		return []dibs.Outcome{dibs.Stale}, nil // the request is decided again
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := reserveAsync(ctx, reg, "alice-bob", "")
	<-entered
	cancel()
	close(release)
	if err := <-done; err != nil && !errors.Is(err, dibs.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestWriterQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _, release := openBlocked(t, dibs.Config{QueueSize: 2, MaxBatch: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var kept []<-chan error
		for i := range 3 { // one in a batch, two in the queue
			kept = append(kept, reserveAsync(t.Context(), reg, fmt.Sprint("kept-", i), ""))
			synctest.Wait()
		}
		waiting := reserveAsync(ctx, reg, "waiting", "")
		pending(t, waiting)
		cancel()
		if err := <-waiting; !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("a caller that left a full queue got %v", err)
		}
		release()
		noErrors(t, kept)
	})
}

// A refusal may depend on an earlier request of the same batch. If that one is not committed, the
// refusal is not returned.
func TestRefusalOfAFailedCommit(t *testing.T) {
	t.Parallel()
	for _, failure := range []string{"stale", "unavailable"} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, store, release := openBlocked(t, dibs.Config{})
				blocker := reserveAsync(t.Context(), reg, "blocker", "")
				synctest.Wait()
				a := reserveAsync(t.Context(), reg, "alice-bob", "")
				b := reserveAsync(t.Context(), reg, "alice-bob", "")
				synctest.Wait()
				var failed atomic.Bool
				store.OnCommit(func(commit coretest.CommitFunc) ([]dibs.Outcome, error) {
					if failed.Swap(true) {
						return commit()
					}
					if failure == "stale" {
						return []dibs.Outcome{dibs.Stale}, nil
					}
					return nil, dibs.Unavailable(errors.New("disk full"))
				})
				release()
				if err := <-blocker; err != nil {
					t.Fatal(err)
				}
				errA, errB := <-a, <-b
				if failure == "unavailable" {
					if !errors.Is(errA, dibs.ErrUnavailable) || !errors.Is(errB, dibs.ErrUnavailable) {
						t.Fatalf("got %v and %v, want UNAVAILABLE: the name is not taken", errA, errB)
					}
					return
				}
				if (errA == nil) == (errB == nil) {
					t.Fatalf("got %v and %v; one of them should have the name", errA, errB)
				}
			})
		})
	}
}

func TestWriterGivesUpAfterManyStaleCommits(t *testing.T) {
	t.Parallel()
	store := coretest.NewHookStore()
	reg := coretest.MustOpen(t, store, dibs.Config{})
	store.Answer([]dibs.Outcome{dibs.Stale}, nil)
	_, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if !errors.Is(err, dibs.ErrUnavailable) {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
	store.OnCommit(nil)
}

func TestWriterRefusesAfterClose(t *testing.T) {
	t.Parallel()
	reg, err := core.Open(coretest.NewHookStore(), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// Callers and Close race; each caller gets an answer, success or UNAVAILABLE.
	var callers sync.WaitGroup
	for i := range 200 {
		callers.Go(func() {
			_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i)})
			if err != nil && !errors.Is(err, dibs.ErrUnavailable) {
				t.Errorf("while closing: %v", err)
			}
		})
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
	callers.Wait()
	_, err = reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: "late"})
	if !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, dibs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := reg.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestObserverOfTheWriter(t *testing.T) {
	t.Parallel()
	var (
		mu      sync.Mutex
		batches []dibs.BatchInfo
		applied []dibs.CommandInfo
	)
	reg := coretest.OpenMem(t, dibs.Config{Observer: dibs.Observer{
		Batch:   func(b dibs.BatchInfo) { mu.Lock(); defer mu.Unlock(); batches = append(batches, b) },
		Command: func(c dibs.CommandInfo) { mu.Lock(); defer mu.Unlock(); applied = append(applied, c) },
	}})
	coretest.MustReserve(t, reg, "alice-bob")
	_, _ = reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if err := reg.Close(); err != nil { // the writer has called the observer by then
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(batches) < 2 || batches[0].Requests != 1 || batches[0].Commits != 1 || batches[1].Commits != 0 {
		t.Errorf("batches: %+v", batches)
	}
	if len(applied) != 2 || applied[0].Err != nil || !errors.Is(applied[1].Err, dibs.ErrNameTaken) {
		t.Errorf("commands: %+v", applied)
	}
}

// parallelStore is a store that prefers a number of concurrent commits.
type parallelStore struct {
	*coretest.HookStore
	writers int
}

func (s parallelStore) Writers() int { return s.writers }

// The number of concurrent batches is what the Config says, else what the engine says, else one.
func TestConcurrentBatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, config, want int }{
		{engine: 3, want: 3},
		{engine: 3, config: 2, want: 2},
		{engine: 3, config: 1, want: 1},
		{engine: 0, want: 1},
		{engine: -1, config: 2, want: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := coretest.NewHookStore()
			reg := coretest.MustOpen(t, parallelStore{store, c.engine}, dibs.Config{Writers: c.config})
			release := store.Block()
			var waiting []<-chan error
			for i := range 5 {
				waiting = append(waiting, reserveAsync(t.Context(), reg, fmt.Sprint("name-", i), ""))
				synctest.Wait()
			}
			if n := store.Commits(); n != c.want {
				t.Errorf("%+v: %d commits under way", c, n)
			}
			release()
			noErrors(t, waiting)
		})
	}
}
