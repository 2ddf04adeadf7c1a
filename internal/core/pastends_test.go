package core_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/endtest"
	"github.com/calldibs/dibs/memstore"
)

// lateStore is a memstore that can delay a commit between reading the clock and becoming visible, like
// an engine whose COMMIT waits for a disk or a standby.
type lateStore struct {
	dibs.Store
	late    bool
	arrives chan struct{} // closed to let a late commit go on
	visible chan struct{} // closed when it is visible; nil before it begins
	awaits  int
}

func newLateStore() *lateStore {
	return &lateStore{Store: memstore.New(memstore.Config{}), arrives: make(chan struct{})}
}

func (s *lateStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.late {
		s.late, s.visible = false, make(chan struct{})
		defer close(s.visible)
		for i := range groups { // in time, even if the window is over when the commit becomes visible
			if now := dibs.InstantOf(time.Now()); !groups[i].Window.Contains(now) {
				return make([]dibs.Outcome, len(groups)), nil
			}
			groups[i].Window = dibs.Window{}
		}
		<-s.arrives
	}
	return s.Store.Commit(ctx, groups)
}

func (s *lateStore) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	s.awaits++
	select {
	case <-s.arrives:
		if s.visible != nil {
			<-s.visible
		}
		return s.Store.Await(ctx, refs, end)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// onEnds are calls whose answer depends on whether a hold is over: a hold of the name, and a hold that
// counts against the caller's quota.
func onEnds() map[string]func(ctx context.Context, reg *dibs.Registry, token string) error {
	questions := maps.Clone(endtest.Questions)
	questions["reserve the next one, dry"] = func(ctx context.Context, reg *dibs.Registry, _ string) error {
		_, err := reg.DryRun(ctx, dibs.Reserve{Namespace: "few", Value: "m", TTL: dibs.For(time.Minute)})
		return err
	}
	return questions
}

// A Confirm or Extend that was in time may become visible after the hold's end. Answers that depend
// on the end wait for that commit, up to the deadline of their caller.
func TestAnswersWaitForALateCommit(t *testing.T) {
	t.Parallel()
	for name, ask := range onEnds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newLateStore()
				cfg := dibs.Config{Policies: map[string]dibs.Policy{"few": {MaxHolds: 1}}, Suggestions: -1}
				p := dibs.Principal{Name: "p"}
				reg, other := coretest.MustOpen(t, store, cfg).As(p), coretest.MustOpen(t, store, cfg).As(p)
				held, err := reg.Apply(t.Context(),
					dibs.Reserve{Namespace: "slug", Value: "n", Token: coretest.Token1, TTL: dibs.For(time.Second)},
					dibs.Reserve{Namespace: "few", Value: "n", Token: coretest.Token1, TTL: dibs.For(time.Second)})
				if err != nil {
					t.Fatal(err)
				}
				store.late = true
				done := make(chan error, 1)
				go func() {
					_, err := reg.Apply(context.Background(),
						dibs.Confirm{ID: held[0].Names[0].ID, Token: coretest.Token1, Entity: coretest.User1},
						dibs.Extend{ID: held[1].Names[0].ID, Token: coretest.Token1, TTL: dibs.For(time.Hour)})
					done <- err
				}()
				synctest.Wait()
				time.Sleep(2 * time.Second)

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := ask(ctx, other, coretest.Token1); !errors.Is(err, dibs.ErrUnavailable) {
					t.Errorf("answered %v before the confirmation is visible", err)
				}
				waiting := make(chan error, 1)
				go func() { waiting <- ask(context.Background(), other, coretest.Token1) }()
				pending(t, waiting)
				if _, err := other.Apply(t.Context(), coretest.Reserve("slug", "another", coretest.Token2)); err != nil {
					t.Errorf("a reservation of another name fails: %v", err)
				}
				close(store.arrives)
				if err := <-done; err != nil {
					t.Fatalf("the confirmation: %v", err)
				}
				if err := <-waiting; errors.Is(err, dibs.ErrAlreadyExpired) || errors.Is(err, dibs.ErrUnavailable) {
					t.Errorf("answered %v after the confirmation", err)
				}
				if found, err := other.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "n"}); err != nil || found.State != dibs.Active {
					t.Errorf("the name is %s, %v", found.State, err)
				}
			})
		})
	}
}

// The registry waits for an end once, not in every call until the hold is swept. Answers that depend
// on no end do not wait.
func TestEndIsAwaitedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLateStore()
		close(store.arrives)
		reg := coretest.MustOpen(t, store, dibs.Config{})
		hold := dibs.Reserve{Namespace: "slug", Value: "n", Token: coretest.Token1, TTL: dibs.For(time.Minute)}
		if _, err := reg.Apply(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{0, 1} {
			for range 3 {
				for name, ask := range onEnds() {
					if err := ask(t.Context(), reg, coretest.Token1); errors.Is(err, dibs.ErrUnavailable) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			if store.awaits != want {
				t.Errorf("waited %d times, want %d", store.awaits, want)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// A commit may follow its decision much later. A hold that would be over by then, or a name that was
// taken and purged meanwhile, is decided again.
func TestLateCommit(t *testing.T) {
	t.Parallel()
	t.Run("a hold that is over", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t, nil)
		s.OnCommit = s.BeforeFirst(func() { f.Clock.Advance(10 * time.Second) })
		n := f.One(dibs.Reserve{Namespace: "slug", Value: "x", TTL: dibs.For(5 * time.Second)})
		if want := f.Clock.Now().Add(5 * time.Second); !n.ExpiresAt.Equal(want) {
			t.Errorf("the hold ends at %v, want %v", n.ExpiresAt, want)
		}
	})
	t.Run("a name that was purged", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t, nil)
		other := f.Reopened(map[string]dibs.Policy{"slug": {HoldHistory: dibs.MinHoldHistory}})
		s.OnCommit = s.BeforeFirst(func() {
			other.Must(coretest.Reserve("slug", "x", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token2})
			f.Clock.Advance(dibs.MinHoldHistory)
			other.SweepAll()
		})
		if n := f.One(coretest.Reserve("slug", "x", coretest.Token1)); n.Epoch != 2 {
			t.Errorf("the epoch is %d, want 2", n.Epoch)
		}
	})
}
