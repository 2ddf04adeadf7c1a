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
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// Requests of one batch that share a record that one of them changes form a group, which is committed
// as a whole. Every other request is a group of its own.
func TestBatchGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := coretest.NewSpy(t, nil)
		f.Must(coretest.Claim("slug", "calm", coretest.User3))
		var seen [][]dibs.Group
		stale := true
		before := func(groups []dibs.Group) ([]dibs.Outcome, error) {
			seen = append(seen, groups)
			if stale { // the second group is committed, the first must be decided again
				stale = false
				outcomes, err := s.Store.Commit(context.Background(), groups[1:])
				return append([]dibs.Outcome{dibs.Stale}, outcomes...), err
			}
			return nil, nil
		}
		got := coretest.InOneBatch(f, s, before, map[int]bool{5: true, 6: true},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User1)},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User2)},                         // depends on the first
			[]dibs.Command{coretest.Claim("other", "y", dibs.Entity{Type: "team", ID: "1"})},    // a group of its own
			[]dibs.Command{coretest.Rename("slug", "z", coretest.User1)},                        // changes the name of the first
			[]dibs.Command{coretest.Claim("slug", "calm", coretest.User3)},                      // replayed, depends on no other
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User3)},                         // dry, depends on the first
			[]dibs.Command{coretest.Claim("slug", "w", coretest.User2)},                         // dry: no other request sees it
			[]dibs.Command{dibs.Reserve{Namespace: "slug", Value: "w", Token: coretest.Token1}}, // a group of its own
		)
		for i, want := range []error{nil, dibs.ErrNameTaken, nil, nil, nil, dibs.ErrNameTaken, nil, nil} {
			if !errors.Is(got[i].Err, want) {
				t.Errorf("request %d: %v, want %v", i, got[i].Err, want)
			}
		}
		if !got[4].Results[0].Replayed {
			t.Error("a repeated claim is not replayed")
		}
		if len(seen) != 2 || len(seen[0]) != 3 || len(seen[1]) != 1 {
			t.Fatalf("the batch was committed in %d steps, the first with %d groups", len(seen), len(seen[0]))
		}
		for _, group := range []dibs.Group{seen[0][0], seen[1][0]} {
			// x, z and their entity, each once.
			if len(group.Writes) != 3 || len(group.Events) != 3 {
				t.Errorf("the first group has %d writes and %d events", len(group.Writes), len(group.Events))
			}
		}
		f.WantResolve("slug", "x", 301, "z")
		f.WantActive(coretest.User1, "z")
		f.WantState("slug", "w", dibs.Held)
	})
}

// A request sees the changes of the requests before it in the batch. A refused or dry request leaves
// no changes.
func TestBatchSeesEarlierRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := coretest.NewSpy(t, nil)
		before := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
		got := coretest.InOneBatch(f, s, before, nil,
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User1), coretest.Claim("slug", "x", coretest.User2)}, // refused as a whole
			[]dibs.Command{coretest.Reserve("slug", "x", coretest.Token1)},
			[]dibs.Command{dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token1, Entity: coretest.User3}},
			[]dibs.Command{dibs.Delete{Entity: coretest.User3}},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User2)},
		)
		for i, want := range []error{dibs.ErrNameTaken, nil, nil, nil, nil} {
			if !errors.Is(got[i].Err, want) {
				t.Errorf("request %d: %v, want %v", i, got[i].Err, want)
			}
		}
		f.WantActive(coretest.User2, "x")
		f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventConfirmed, dibs.EventGivenUp, dibs.EventClaimed)
	})
}

// A failure of the engine is not counted as a refusal, and the error says whether the commit may have
// happened.
func TestEngineFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		fail func(s *coretest.Spy)
		want error
	}{
		"reading":      {func(s *coretest.Spy) { s.OnLoad = func() error { return broken } }, dibs.ErrUnavailable},
		"out of reach": {func(s *coretest.Spy) { s.OnLoad = func() error { return dibs.Unavailable(broken) } }, dibs.ErrUnavailable},
		"committing":   {func(s *coretest.Spy) { s.OnCommit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, broken } }, dibs.ErrOutcomeUnknown},
		"full": {func(s *coretest.Spy) {
			s.OnCommit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, dibs.Unavailable(broken) }
		}, dibs.ErrUnavailable},
		"few outcomes": {func(s *coretest.Spy) { s.OnCommit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil } }, dibs.ErrOutcomeUnknown},
		"always behind": {func(s *coretest.Spy) {
			s.OnCommit = func(g []dibs.Group) ([]dibs.Outcome, error) { return make([]dibs.Outcome, len(g)), nil }
		}, dibs.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := coretest.NewSpy(t, nil)
			c.fail(s)
			_, err := f.Apply(f.Ctx, coretest.Claim("slug", "x", coretest.User1))
			f.WantError(err, c.want)
			s.OnLoad, s.OnCommit = nil, nil
			if buckets, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{}); err != nil || len(buckets) != 0 {
				t.Errorf("the failure counts as a refusal: %v, %v", buckets, err)
			}
			f.Must(coretest.Claim("slug", "x", coretest.User1)) // the engine works again
		})
	}
}

// Of many callers that claim one name, exactly one gets it.
func TestRace(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		won   []dibs.Entity
	)
	for i := range 64 {
		entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		group.Go(func() {
			_, err := f.Claim(f.Ctx, coretest.Claim("slug", "x", entity))
			if err != nil && !errors.Is(err, dibs.ErrNameTaken) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				won = append(won, entity)
			}
		})
	}
	group.Wait()
	if len(won) != 1 || f.NameOf("slug", "x").Entity != won[0] {
		t.Errorf("%v have the name, want one entity", won)
	}
	f.WantActive(won[0], "x")
}

// Another process purges a name between load and commit: the request is decided again, and the epoch
// continues after the purged one.
func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	f.Must(coretest.Reserve("slug", "old", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "old"), Token: coretest.Token1})
	f.Clock.Advance(dibs.DefaultHoldHistory)
	other := f.With(coretest.MustOpen(t, f.Engine, dibs.Config{}))
	s.OnCommit = s.BeforeFirst(func() { other.SweepAll() })
	if n := f.One(coretest.Claim("slug", "old", coretest.User1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, want 2, above that of the purged row", n.Epoch)
	}
}

// Another process renames the entity before each load, so each load shows another active name. The
// request is not refused because of that: it is decided once the renames end.
func TestRenamedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	other := f.With(coretest.MustOpen(t, f.Engine, dibs.Config{}))
	moves := 0
	s.OnLoad = func() error {
		if moves < 20 {
			moves++
			other.Must(coretest.Rename("slug", fmt.Sprint("other ", moves), coretest.User1))
		}
		return nil
	}
	if n := f.One(coretest.Rename("slug", "y", coretest.User1)); n.State != dibs.Active {
		t.Errorf("the name is %s, want active", n.State)
	}
	f.WantActive(coretest.User1, "y")
}

// A refusal that depends on another request of its batch is decided on a consistent state: not on the
// change of that request together with older records.
func TestRefusalDependsOnAConsistentState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dry       bool
		meanwhile func(other *coretest.Fixture) // what another registry does between load and commit
		want      error
	}{
		"given away":           {meanwhile: func(other *coretest.Fixture) { other.Must(coretest.Claim("slug", "n2", coretest.User2)) }, want: dibs.ErrNameTaken},
		"given away, dry":      {dry: true, meanwhile: func(other *coretest.Fixture) { other.Must(coretest.Claim("slug", "n2", coretest.User2)) }, want: dibs.ErrNameTaken},
		"nothing else happens": {meanwhile: func(*coretest.Fixture) {}, want: dibs.ErrEntityHasName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, other, s := newGuessing(t, nil)
				hold := f.One(coretest.Reserve("slug", "n3", coretest.Token1))
				before := s.BeforeFirst(func() { c.meanwhile(other) })
				got := coretest.InOneBatch(f, s.Spy, before, map[int]bool{1: c.dry},
					[]dibs.Command{dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: coretest.User1}},
					[]dibs.Command{coretest.Claim("slug", "n2", coretest.User1)}, // refused, since the first gives its entity a name
				)
				if got[0].Err != nil || !errors.Is(got[1].Err, c.want) {
					t.Errorf("got %v and %v, want success and %v", got[0].Err, got[1].Err, c.want)
				}
			})
		})
	}
}

// smallStore answers TooLarge for groups with more writes than most.
type smallStore struct {
	*memstore.Store
	most    int
	refused atomic.Int64
}

func (s *smallStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	for i, group := range groups {
		if len(group.Writes) > s.most {
			s.refused.Add(1)
			outcomes[i] = dibs.TooLarge
			continue
		}
		done, err := s.Store.Commit(ctx, []dibs.Group{group})
		if err != nil {
			return nil, err
		}
		outcomes[i] = done[0]
	}
	return outcomes, nil
}

// Requests that share a record form one group. An engine that cannot commit the whole group gets it in
// parts, and each request still sees the changes of those before it.
func TestGroupIsTooLarge(t *testing.T) {
	t.Parallel()
	const holds, callers = 30, 40
	store := &smallStore{Store: memstore.New(memstore.Config{}), most: 4}
	reg := coretest.MustOpen(t, store, dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxHolds: holds}}})
	for round := 0; store.refused.Load() == 0; round++ { // until callers have met in a group
		alice := reg.As(dibs.Principal{Name: fmt.Sprint("alice-", round)})
		answers := make(chan error, callers)
		for i := range callers {
			go func() {
				_, err := alice.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", round, "-", i)})
				answers <- err
			}()
		}
		held := 0
		for range callers {
			switch err := <-answers; {
			case err == nil:
				held++
			case !errors.Is(err, dibs.ErrTooManyHolds):
				t.Error(err)
			}
		}
		if held != holds {
			t.Errorf("%d holds, want %d", held, holds)
		}
	}
}

// A request that is too large by itself is refused with TOO_LARGE.
func TestRequestIsTooLarge(t *testing.T) {
	t.Parallel()
	store := &smallStore{Store: memstore.New(memstore.Config{}), most: 4}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	var list []dibs.Command
	for i := range 6 {
		list = append(list, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i)})
	}
	if _, err := reg.Apply(t.Context(), list...); !errors.Is(err, dibs.ErrTooLarge) {
		t.Errorf("%v, want TOO_LARGE", err)
	}
	if store.refused.Load() == 0 {
		t.Error("the engine was not asked")
	}
	if _, err := reg.Apply(t.Context(), list[:3]...); err != nil {
		t.Error(err)
	}
}
