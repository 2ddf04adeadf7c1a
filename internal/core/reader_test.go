package core_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// slowStore lets nobody load while its gate is shut.
type slowStore struct {
	dibs.Store
	loads   atomic.Int64
	arrived chan struct{}
	gate    chan struct{} // a value lets one load through; closed, all
}

func newSlowStore(store dibs.Store) *slowStore {
	return &slowStore{Store: store, arrived: make(chan struct{}, 1000), gate: make(chan struct{})}
}

func (s *slowStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	s.loads.Add(1)
	found, err := s.Store.Load(ctx, refs) // looked, and not told yet
	s.arrived <- struct{}{}
	select {
	case <-s.gate:
		return found, err
	case <-ctx.Done():
		return dibs.Snapshots{}, ctx.Err()
	}
}

func (s *slowStore) Close() error { return nil }

// Questions that come while the engine is being looked at share the next look. None is
// answered from a look that began before it was asked.
func TestQuestionsShareALook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := coretest.NewFixture(t, nil)
		store := newSlowStore(f.Engine)
		reg := coretest.MustOpen(t, store, dibs.Config{})
		looks := min(runtime.GOMAXPROCS(0), 4)
		for range looks { // as many looks as there may be
			go func() {
				if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Outcome != dibs.ResolveNotFound {
					t.Errorf("asked before: %+v, %v", r, err)
				}
			}()
			synctest.Wait()
		}
		f.Must(coretest.Claim("slug", "x", coretest.User1))
		for range 100 {
			go func() {
				if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Entity != coretest.User1 {
					t.Errorf("asked after: %+v, %v", r, err)
				}
			}()
		}
		synctest.Wait() // all of them wait
		close(store.gate)
		synctest.Wait()
		// Each look loads twice: the name, then its entity.
		if n := store.loads.Load(); n > int64(3*looks) {
			t.Errorf("%d loads", n)
		}
	})
}

// Who goes away is not waited for, and takes no answer from others.
func TestQuestionIsWithdrawn(t *testing.T) {
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
	close(store.gate)
	if r, err := reg.Resolve(f.Ctx, "slug", "x"); err != nil || r.Entity != coretest.User1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// An engine that fails fails all who wait for it.
func TestQuestionsToAFailingEngine(t *testing.T) {
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
