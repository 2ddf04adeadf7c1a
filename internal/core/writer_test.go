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

// reserveAsync reserves in the background and hands over the error.
func reserveAsync(ctx context.Context, reg *dibs.Registry, value, token string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: value, Token: token})
		done <- err
	}()
	return done
}

func TestWriterGathersWhileACommitIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		release := coretest.Block(store)
		var waiting []<-chan error
		for i := range 100 {
			waiting = append(waiting, reserveAsync(t.Context(), reg, fmt.Sprint("name-", i), ""))
		}
		synctest.Wait()
		release()
		for _, done := range waiting {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := store.Commits(); n > 3 {
			t.Errorf("100 callers took %d commits", n)
		}
	})
}

func TestWriterWithdrawsWhoLeavesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		release := coretest.Block(store)
		first := reserveAsync(t.Context(), reg, "first", "")
		synctest.Wait() // it is in a batch, which cannot commit

		ctx, cancel := context.WithCancel(t.Context())
		second := reserveAsync(ctx, reg, "second", "")
		synctest.Wait() // it is in the queue
		cancel()
		err := <-second
		if !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, context.Canceled) || errors.Is(err, dibs.ErrOutcomeUnknown) {
			t.Errorf("withdrawn = %v, want UNAVAILABLE caused by the context", err)
		}
		release()
		if err := <-first; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, err := reg.Get(context.Background(), dibs.Lookup{Namespace: "slug", Value: "second"}); !errors.Is(err, dibs.ErrNotFound) {
			t.Errorf("what was withdrawn happened: %v", err)
		}
	})
}

func TestWriterCannotTellOnceItIsInABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{})
		release := coretest.Block(store)
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

// A caller that has left must not look at its request any more: the writer still
// decides about it. The race detector watches.
func TestWriterKeepsTheRequestOfWhoLeft(t *testing.T) {
	t.Parallel()
	store := coretest.NewGatedStore()
	reg := coretest.MustOpen(t, store, dibs.Config{})
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	store.Gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
		if !first {
			return commit()
		}
		first = false
		close(entered)
		<-release
		return []dibs.Outcome{dibs.Stale}, nil // it is decided once more
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
		store := coretest.NewGatedStore()
		reg := coretest.MustOpen(t, store, dibs.Config{QueueSize: 2, MaxBatch: 1})
		release := coretest.Block(store)
		ctx, cancel := context.WithCancel(t.Context())
		var kept []<-chan error
		for i := range 3 { // one in a batch, two in the queue
			kept = append(kept, reserveAsync(t.Context(), reg, fmt.Sprint("kept-", i), ""))
			synctest.Wait()
		}
		waiting := reserveAsync(ctx, reg, "waiting", "")
		synctest.Wait()
		select {
		case err := <-waiting:
			t.Fatalf("a full queue answered %v instead of making the caller wait", err)
		default:
		}
		cancel()
		if err := <-waiting; !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("a caller that waited in vain got %v", err)
		}
		release()
		for _, done := range kept {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// A refusal may rest on what a command before it in the same batch did. If that one
// could not be committed, the refusal was wrong.
func TestWriterTakesBackRefusalsOfAFailedCommit(t *testing.T) {
	t.Parallel()
	for _, failure := range []string{"stale", "unavailable"} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := coretest.NewGatedStore()
				reg := coretest.MustOpen(t, store, dibs.Config{})
				release := coretest.Block(store)
				blocker := reserveAsync(t.Context(), reg, "blocker", "")
				synctest.Wait()
				a := reserveAsync(t.Context(), reg, "alice-bob", "")
				b := reserveAsync(t.Context(), reg, "alice-bob", "")
				synctest.Wait()
				var failed atomic.Bool
				store.Gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
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
						t.Fatalf("got %v and %v; nobody has the name, so nobody may be told that it is taken", errA, errB)
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

func TestWriterGivesUpWhenOthersAreAlwaysFaster(t *testing.T) {
	t.Parallel()
	store := coretest.NewGatedStore()
	reg := coretest.MustOpen(t, store, dibs.Config{})
	store.Gate(func(func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) { return []dibs.Outcome{dibs.Stale}, nil })
	_, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if !errors.Is(err, dibs.ErrUnavailable) {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
	store.Gate(nil)
}

func TestWriterRefusesAfterClose(t *testing.T) {
	t.Parallel()
	reg, err := core.Open(coretest.NewGatedStore(), dibs.Config{})
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

func TestWriterTellsItsObserver(t *testing.T) {
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
	if err := reg.Close(); err != nil { // the writer has reported by then
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
