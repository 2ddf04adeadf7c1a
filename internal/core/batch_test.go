package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Requests of one batch that share a record which one of them changes stand or
// fall together; all others are on their own.
func TestBatchGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := coretest.NewSpy(t)
		f.Must(coretest.Claim("slug", "calm", coretest.User3))
		var seen [][]dibs.Group
		stale := true
		before := func(groups []dibs.Group) ([]dibs.Outcome, error) {
			seen = append(seen, groups)
			if stale { // the second group is committed, the first has to be decided again
				stale = false
				outcomes, err := s.Store.Commit(context.Background(), groups[1:])
				return append([]dibs.Outcome{dibs.Stale}, outcomes...), err
			}
			return nil, nil
		}
		got := coretest.Together(t, f, s, before, map[int]bool{5: true, 6: true},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User1)},
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User2)},                         // rests on the first
			[]dibs.Command{coretest.Claim("other", "y", dibs.Entity{Type: "team", ID: "1"})},    // on its own
			[]dibs.Command{coretest.Rename("slug", "z", coretest.User1)},                        // changes the first one's name
			[]dibs.Command{coretest.Claim("slug", "calm", coretest.User3)},                      // replayed, rests on nobody
			[]dibs.Command{coretest.Claim("slug", "x", coretest.User3)},                         // dry, rests on the first
			[]dibs.Command{coretest.Claim("slug", "w", coretest.User2)},                         // dry: nobody sees it
			[]dibs.Command{dibs.Reserve{Namespace: "slug", Value: "w", Token: coretest.Token1}}, // on its own
		)
		for i, want := range []error{nil, dibs.ErrNameTaken, nil, nil, nil, dibs.ErrNameTaken, nil, nil} {
			if !errors.Is(got[i].Err, want) {
				t.Errorf("request %d: %v, want %v", i, got[i].Err, want)
			}
		}
		if !got[4].Results[0].Replayed {
			t.Error("a claim that stood already is not replayed")
		}
		if len(seen) != 2 || len(seen[0]) != 3 || len(seen[1]) != 1 {
			t.Fatalf("the batch was committed in %d steps, the first with %d groups", len(seen), len(seen[0]))
		}
		for _, group := range []dibs.Group{seen[0][0], seen[1][0]} {
			// x and z and their owner, each once; nothing of x was there before.
			if len(group.Writes) != 3 || len(group.Events) != 3 {
				t.Errorf("the first group has %d writes and %d events", len(group.Writes), len(group.Events))
			}
		}
		f.WantLeads("slug", "x", 301, "z")
		f.WantActive(coretest.User1, "z")
		f.WantState("slug", "w", dibs.Held)
	})
}

// What a request changes is visible to those behind it, and a refused or dry one
// leaves nothing behind.
func TestBatchSees(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := coretest.NewSpy(t)
		before := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
		got := coretest.Together(t, f, s, before, nil,
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
		coretest.WantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventConfirmed, dibs.EventGivenUp, dibs.EventClaimed)
	})
}

// A name that stops being an entity's active one is written before its successor:
// engines with a unique index need that.
func TestYieldsFirst(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t)
	var groups []dibs.Group
	s.OnCommit = func(g []dibs.Group) ([]dibs.Outcome, error) {
		groups = g
		return s.Store.Commit(context.Background(), g)
	}
	yields := func() (values []string) {
		rest := false
		for _, w := range groups[0].Writes {
			if w.Yields && rest {
				t.Error("a name yields behind one that does not")
			}
			if rest = rest || !w.Yields; w.Yields {
				values = append(values, w.Record.(*dibs.NameRecord).Canonical)
			}
		}
		return values
	}
	want := func(command dibs.Command, values ...string) {
		t.Helper()
		f.Must(command)
		if got := yields(); fmt.Sprint(got) != fmt.Sprint(values) {
			t.Errorf("%#v: %v yield, want %v", command, got, values)
		}
	}
	want(coretest.Claim("slug", "a", coretest.User1))
	want(coretest.Claim("slug", "b", coretest.User2))
	want(coretest.Rename("slug", "c", coretest.User1), "a")
	want(coretest.Rename("slug", "a", coretest.User1), "c")
	want(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: coretest.User1}, B: dibs.Named{Value: "b", Entity: coretest.User2}}, "a", "b")
	want(dibs.Transfer{Namespace: "slug", Value: "a", From: coretest.User2, To: coretest.User3}, "a")
	want(dibs.Archive{Entity: coretest.User3})
	want(coretest.Decommission("slug", "a", coretest.User3), "a")
	want(dibs.Delete{Entity: coretest.User1}, "b")
}

// An engine that fails is not a refusal, and what it may have done is told.
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
			f, s := coretest.NewSpy(t)
			c.fail(s)
			_, err := f.Apply(f.Ctx, coretest.Claim("slug", "x", coretest.User1))
			f.CheckError(err, c.want)
			s.OnLoad, s.OnCommit = nil, nil
			if buckets, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{}); err != nil || len(buckets) != 0 {
				t.Errorf("it counts as a refusal: %v, %v", buckets, err)
			}
			f.Must(coretest.Claim("slug", "x", coretest.User1)) // and it goes on when the engine does
		})
	}
}

// However many want one name, one of them gets it.
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
		t.Errorf("%v got it", won)
	}
	f.WantActive(won[0], "x")
}

// A name is purged by another process at the last moment: the decision that rested on
// its row is taken again, and the epoch goes on where the purged one was.
func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t)
	f.Must(coretest.Reserve("slug", "old", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "old"), Token: coretest.Token1})
	f.Clock.Advance(dibs.DefaultHoldHistory)
	other := *f
	other.Registry = coretest.MustOpen(t, f.Engine, dibs.Config{})
	first := true
	s.OnCommit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			other.SweepAll()
		}
		return s.Store.Commit(context.Background(), groups)
	}
	if n := f.One(coretest.Claim("slug", "old", coretest.User1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, not above that of a purged name", n.Epoch)
	}
}

// Another process renames the entity whenever it was looked at, so each look leads to another
// name. That is no fault of the engine: the decision is taken when it stands still.
func TestRenamedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	other := *f
	other.Registry = coretest.MustOpen(t, f.Engine, dibs.Config{})
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

// A refusal that rests on a neighbour rests on all that it looked at, at one moment: not on
// the neighbour's change and on what was so before.
func TestRefusalBesideAChangeIsOfOneMoment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dry  bool
		meet func(other *coretest.Fixture) // what another registry does between load and commit
		want error
	}{
		"given away":           {meet: func(other *coretest.Fixture) { other.Must(coretest.Claim("slug", "n2", coretest.User2)) }, want: dibs.ErrNameTaken},
		"given away, dry":      {dry: true, meet: func(other *coretest.Fixture) { other.Must(coretest.Claim("slug", "n2", coretest.User2)) }, want: dibs.ErrNameTaken},
		"nothing else happens": {meet: func(*coretest.Fixture) {}, want: dibs.ErrEntityHasName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, other, s := newGuessing(t, nil)
				hold := f.One(coretest.Reserve("slug", "n3", coretest.Token1))
				before := f.Once(s.Spy, func() { c.meet(other) })
				got := coretest.Together(t, f, s.Spy, before, map[int]bool{1: c.dry},
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
