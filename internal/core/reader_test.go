package core_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// slowStore delays the answers of loads.
type slowStore struct {
	dibs.Store
	loads   atomic.Int64
	arrived chan struct{}
	release chan struct{} // a value releases one load; closed, it releases all
}

func newSlowStore(store dibs.Store) *slowStore {
	return &slowStore{Store: store, arrived: make(chan struct{}, 1000), release: make(chan struct{})}
}

func (s *slowStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	s.loads.Add(1)
	found, err := s.Store.Load(ctx, refs) // loaded, but not answered yet
	s.arrived <- struct{}{}
	select {
	case <-s.release:
		return found, err
	case <-ctx.Done():
		return dibs.LoadResult{}, ctx.Err()
	}
}

func (s *slowStore) Close() error { return nil }

// Reads that arrive while loads are under way share the next load. No read is answered from a load that
// began before it.
func TestReadsShareALoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := coretest.NewFixture(t, nil)
		store := newSlowStore(f.Engine)
		reg := coretest.MustOpen(t, store, dibs.Config{})
		loads := min(runtime.GOMAXPROCS(0), 4)
		for range loads { // as many as may be under way at once
			go func() {
				if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Outcome != dibs.ResolveNotFound {
					t.Errorf("before the claim: %+v, %v", r, err)
				}
			}()
			synctest.Wait()
		}
		f.Must(coretest.Claim("slug", "x", coretest.User1))
		for range 100 {
			go func() {
				if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Entity != coretest.User1 {
					t.Errorf("after the claim: %+v, %v", r, err)
				}
			}()
		}
		synctest.Wait() // all of them wait
		close(store.release)
		synctest.Wait()
		// Each shared read loads twice: the name, then its entity.
		if n := store.loads.Load(); n > int64(3*loads) {
			t.Errorf("%d loads", n)
		}
	})
}

// A caller that leaves gets its error at once, and other callers still get their answers.
func TestReadIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	store := newSlowStore(f.Engine)
	reg := coretest.MustOpen(t, store, dibs.Config{})
	ctx, cancel := context.WithCancel(f.Ctx)
	gone := make(chan error)
	go func() {
		_, err := reg.Resolve(ctx, "slug", "x")
		gone <- err
	}()
	<-store.arrived
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := reg.Resolve(ctx, "slug", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	close(store.release)
	if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Entity != coretest.User1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A failure of the engine is the answer to every waiting read.
func TestReadsFailWithTheEngine(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	reg := coretest.MustOpen(t, f.Engine, dibs.Config{})
	if err := f.Engine.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := reg.Resolve(f.Ctx, "slug", "x"); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
}

// Callers that are ready at the same time share a load, also if no load is under way.
func TestCallersGatherForALoad(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	store := newSlowStore(f.Engine)
	store.arrived = make(chan struct{}, 10_000)
	close(store.release)
	reg := coretest.MustOpen(t, store, dibs.Config{})
	const callers, questions = 100, 20
	start := make(chan struct{})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			<-start
			for range questions {
				if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Entity != coretest.User1 {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
	close(start)
	all.Wait()
	if n := store.loads.Load(); n > callers*questions/6 {
		t.Errorf("%d loads for %d questions", n, callers*questions)
	}
}
