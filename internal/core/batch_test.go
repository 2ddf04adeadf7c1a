package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
)

// Requests of one batch that share a record which one of them changes stand or
// fall together; all others are on their own.
func TestBatchGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := newSpy(t)
		f.must(claim("slug", "calm", user3))
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
		got := together(t, f, s, before, map[int]bool{5: true, 6: true},
			[]dibs.Command{claim("slug", "x", user1)},
			[]dibs.Command{claim("slug", "x", user2)},                                  // rests on the first
			[]dibs.Command{claim("other", "y", dibs.Entity{Type: "team", ID: "1"})},    // on its own
			[]dibs.Command{rename("slug", "z", user1)},                                 // changes the first one's name
			[]dibs.Command{claim("slug", "calm", user3)},                               // replayed, rests on nobody
			[]dibs.Command{claim("slug", "x", user3)},                                  // dry, rests on the first
			[]dibs.Command{claim("slug", "w", user2)},                                  // dry: nobody sees it
			[]dibs.Command{dibs.Reserve{Namespace: "slug", Value: "w", Token: token1}}, // on its own
		)
		for i, want := range []error{nil, dibs.ErrNameTaken, nil, nil, nil, dibs.ErrNameTaken, nil, nil} {
			if !errors.Is(got[i].err, want) {
				t.Errorf("request %d: %v, want %v", i, got[i].err, want)
			}
		}
		if !got[4].results[0].Replayed {
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
		f.wantLeads("slug", "x", 301, "z")
		f.wantActive(user1, "z")
		f.wantState("slug", "w", dibs.Held)
	})
}

// What a request changes is visible to those behind it, and a refused or dry one
// leaves nothing behind.
func TestBatchSees(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := newSpy(t)
		before := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
		got := together(t, f, s, before, nil,
			[]dibs.Command{claim("slug", "x", user1), claim("slug", "x", user2)}, // refused as a whole
			[]dibs.Command{reserve("slug", "x", token1)},
			[]dibs.Command{dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: token1, Entity: user3}},
			[]dibs.Command{dibs.Delete{Entity: user3}},
			[]dibs.Command{claim("slug", "x", user2)},
		)
		for i, want := range []error{dibs.ErrNameTaken, nil, nil, nil, nil} {
			if !errors.Is(got[i].err, want) {
				t.Errorf("request %d: %v, want %v", i, got[i].err, want)
			}
		}
		f.wantActive(user2, "x")
		wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventConfirmed, dibs.EventGivenUp, dibs.EventClaimed)
	})
}

// A name that stops being an entity's active one is written before its successor:
// engines with a unique index need that.
func TestYieldsFirst(t *testing.T) {
	t.Parallel()
	f, s := newSpy(t)
	var groups []dibs.Group
	s.commit = func(g []dibs.Group) ([]dibs.Outcome, error) {
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
		f.must(command)
		if got := yields(); fmt.Sprint(got) != fmt.Sprint(values) {
			t.Errorf("%#v: %v yield, want %v", command, got, values)
		}
	}
	want(claim("slug", "a", user1))
	want(claim("slug", "b", user2))
	want(rename("slug", "c", user1), "a")
	want(rename("slug", "a", user1), "c")
	want(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: user1}, B: dibs.Named{Value: "b", Entity: user2}}, "a", "b")
	want(dibs.Transfer{Namespace: "slug", Value: "a", From: user2, To: user3}, "a")
	want(dibs.Archive{Entity: user3})
	want(decommission("slug", "a", user3), "a")
	want(dibs.Delete{Entity: user1}, "b")
}

// An engine that fails is not a refusal, and what it may have done is told.
func TestEngineFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		fail func(s *spy)
		want error
	}{
		"reading":      {func(s *spy) { s.load = func() error { return broken } }, dibs.ErrUnavailable},
		"out of reach": {func(s *spy) { s.load = func() error { return dibs.Unavailable(broken) } }, dibs.ErrUnavailable},
		"committing":   {func(s *spy) { s.commit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, broken } }, dibs.ErrOutcomeUnknown},
		"full": {func(s *spy) {
			s.commit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, dibs.Unavailable(broken) }
		}, dibs.ErrUnavailable},
		"few outcomes": {func(s *spy) { s.commit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil } }, dibs.ErrOutcomeUnknown},
		"always behind": {func(s *spy) {
			s.commit = func(g []dibs.Group) ([]dibs.Outcome, error) { return make([]dibs.Outcome, len(g)), nil }
		}, dibs.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := newSpy(t)
			c.fail(s)
			_, err := f.Apply(f.ctx, claim("slug", "x", user1))
			f.checkError(err, c.want)
			s.load, s.commit = nil, nil
			if buckets, err := f.Conflicts(f.ctx, dibs.ConflictsQuery{}); err != nil || len(buckets) != 0 {
				t.Errorf("it counts as a refusal: %v, %v", buckets, err)
			}
			f.must(claim("slug", "x", user1)) // and it goes on when the engine does
		})
	}
}

// However many want one name, one of them gets it.
func TestRace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		won   []dibs.Entity
	)
	for i := range 64 {
		entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		group.Go(func() {
			_, err := f.Claim(f.ctx, claim("slug", "x", entity))
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
	if len(won) != 1 || f.name("slug", "x").Entity != won[0] {
		t.Errorf("%v got it", won)
	}
	f.wantActive(won[0], "x")
}

// A name is purged by another process at the last moment: the decision that rested on
// its row is taken again, and the epoch goes on where the purged one was.
func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := newSpy(t)
	f.must(reserve("slug", "old", token1), dibs.Release{ID: dibs.NameID("slug", "old"), Token: token1})
	f.clock.advance(dibs.DefaultHoldHistory)
	other := *f
	other.Registry = mustOpen(t, f.store, dibs.Config{})
	first := true
	s.commit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			other.sweep()
		}
		return s.Store.Commit(context.Background(), groups)
	}
	if n := f.one(claim("slug", "old", user1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, not above that of a purged name", n.Epoch)
	}
}

// Another process renames the entity whenever it was looked at, so each look leads to another
// name. That is no fault of the engine: the decision is taken when it stands still.
func TestRenamedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := newSpy(t)
	f.must(claim("slug", "x", user1))
	other := *f
	other.Registry = mustOpen(t, f.store, dibs.Config{})
	moves := 0
	s.load = func() error {
		if moves < 20 {
			moves++
			other.must(rename("slug", fmt.Sprint("other ", moves), user1))
		}
		return nil
	}
	if n := f.one(rename("slug", "y", user1)); n.State != dibs.Active {
		t.Errorf("the name is %s, want active", n.State)
	}
	f.wantActive(user1, "y")
}

// A refusal that rests on a neighbour rests on all that it looked at, at one moment: not on
// the neighbour's change and on what was so before.
func TestRefusalBesideAChangeIsOfOneMoment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dry  bool
		meet func(other *fixture) // what another registry does between load and commit
		want error
	}{
		"given away":           {meet: func(other *fixture) { other.must(claim("slug", "n2", user2)) }, want: dibs.ErrNameTaken},
		"given away, dry":      {dry: true, meet: func(other *fixture) { other.must(claim("slug", "n2", user2)) }, want: dibs.ErrNameTaken},
		"nothing else happens": {meet: func(*fixture) {}, want: dibs.ErrEntityHasName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, other, s := newGuessing(t, nil)
				hold := f.one(reserve("slug", "n3", token1))
				before := f.once(s.spy, func() { c.meet(other) })
				got := together(t, f, s.spy, before, map[int]bool{1: c.dry},
					[]dibs.Command{dibs.Confirm{ID: hold.ID, Token: token1, Entity: user1}},
					[]dibs.Command{claim("slug", "n2", user1)}, // refused, since the first gives its entity a name
				)
				if got[0].err != nil || !errors.Is(got[1].err, c.want) {
					t.Errorf("got %v and %v, want success and %v", got[0].err, got[1].err, c.want)
				}
			})
		})
	}
}
