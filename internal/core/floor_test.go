package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// The first name in a namespace puts a floor under it. From then on every new name rests
// on it, and none writes it.
func TestFloorIsWrittenOnceAndAlwaysRead(t *testing.T) {
	t.Parallel()
	f, s := newSpy(t)
	var groups []dibs.Group
	s.commit = func(g []dibs.Group) ([]dibs.Outcome, error) {
		groups = g
		return s.Store.Commit(context.Background(), g)
	}
	of := func(kind dibs.Kind) (revs []uint64, writes int) {
		for _, g := range groups {
			for _, r := range g.Reads {
				if r.Ref.Kind == kind {
					revs = append(revs, r.Rev)
				}
			}
			for _, w := range g.Writes {
				if w.Record.Ref().Kind == kind {
					writes++
				}
			}
		}
		return revs, writes
	}
	for i, command := range []dibs.Command{
		reserve("slug", "a", token1), reserve("slug", "b", token1), claim("slug", "c", user1), rename("slug", "d", user1),
	} {
		f.must(command)
		first := i == 0
		revs, writes := of(dibs.KindFloor)
		if len(revs) != 1 || (revs[0] == 0) != first || (writes == 1) != first {
			t.Errorf("%#v read the floor at revisions %v and wrote it %d times", command, revs, writes)
		}
	}
	f.must(rename("slug", "c", user1)) // it has a row, but may be another name by other rules
	if revs, writes := of(dibs.KindFloor); len(revs) != 1 || writes != 0 {
		t.Errorf("a name with a row read the floor at %v and wrote it %d times", revs, writes)
	}
	if floors := f.floors(); len(floors) != 1 || floors[0].Label != "slug" || floors[0].Rev != 1 {
		t.Errorf("%+v", floors)
	}
}

func TestFloorIsNotWrittenForNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	if _, err := f.DryRun(f.ctx, claim("slug", "a", user1)); err != nil {
		t.Fatal(err)
	}
	f.refused(dibs.ErrNameTaken, claim("slug", "a", user1), claim("slug", "a", user2))
	if floors := f.floors(); len(floors) != 0 {
		t.Errorf("a dry run or a refusal left %+v", floors)
	}
}

// However late a commit comes, a name that was purged meanwhile has not been forgotten.
func TestFloorIsRaisedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := newSpy(t)
	f.must(reserve("slug", "other", token1))
	other := f.reopened(map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	s.commit = f.once(s, func() {
		other.must(reserve("slug", "x", token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: token2})
		f.clock.advance(time.Hour)
		other.sweep()
		other.wantState("slug", "x", dibs.Free)
	})
	if n := f.one(claim("slug", "x", user1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d again", n.Epoch)
	}
}

// A floor that cannot be read stops new names, and nothing else: taken for empty it would
// let epochs start over, and anybody's rules apply.
func TestFloorThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	f.must(reserve("slug", "old", token1), claim("slug", "mine", user1))
	f.must(dibs.Release{ID: dibs.NameID("slug", "old"), Token: token1})
	damaged := *f.floors()[0]
	damaged.Rev, damaged.Data = 2, []byte(`{"epoch":7,"re`)
	outcomes, err := f.store.Commit(f.ctx, []dibs.Group{{
		Reads: []dibs.Read{{Ref: damaged.Ref(), Rev: 1}}, Writes: []dibs.Write{{Record: &damaged}},
	}})
	if err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
	for _, command := range []dibs.Command{
		reserve("slug", "new", token1),
		claim("slug", "new", user2),
		rename("slug", "new", user1),
		dibs.ReserveFirst{Namespace: "slug", Values: []string{"new"}},
		reserve("slug", "old", token2), // it has its own epoch, but nobody knows the rules any more
	} {
		f.refused(dibs.ErrUnavailable, command)
	}
	f.must(reserve("other", "new", token1))

	// Nor is anything purged: the floor could not be raised.
	f.clock.advance(time.Hour)
	_, err = f.Sweep(f.ctx, 10)
	f.checkError(err, dibs.ErrUnavailable)
	if !strings.Contains(err.Error(), `floor "slug"`) {
		t.Errorf("%q does not say which document it is", err)
	}
	f.name("slug", "old")
}
