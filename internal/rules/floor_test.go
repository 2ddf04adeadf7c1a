package rules_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// The first name in a namespace puts a floor under it. From then on every new name rests
// on it, and none writes it.
func TestFloorIsWrittenOnceAndAlwaysRead(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t)
	var groups []dibs.Group
	s.OnCommit = func(g []dibs.Group) ([]dibs.Outcome, error) {
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
		coretest.Reserve("slug", "a", coretest.Token1), coretest.Reserve("slug", "b", coretest.Token1), coretest.Claim("slug", "c", coretest.User1), coretest.Rename("slug", "d", coretest.User1),
	} {
		f.Must(command)
		first := i == 0
		revs, writes := of(dibs.KindFloor)
		if len(revs) != 1 || (revs[0] == 0) != first || (writes == 1) != first {
			t.Errorf("%#v read the floor at revisions %v and wrote it %d times", command, revs, writes)
		}
	}
	f.Must(coretest.Rename("slug", "c", coretest.User1)) // it has a row, but may be another name by other rules
	if revs, writes := of(dibs.KindFloor); len(revs) != 1 || writes != 0 {
		t.Errorf("a name with a row read the floor at %v and wrote it %d times", revs, writes)
	}
	if floors := f.NamespaceRecords(); len(floors) != 1 || floors[0].Label != "slug" || floors[0].Rev != 1 {
		t.Errorf("%+v", floors)
	}
}

func TestFloorIsNotWrittenForNothing(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	if _, err := f.DryRun(f.Ctx, coretest.Claim("slug", "a", coretest.User1)); err != nil {
		t.Fatal(err)
	}
	f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "a", coretest.User2))
	if floors := f.NamespaceRecords(); len(floors) != 0 {
		t.Errorf("a dry run or a refusal left %+v", floors)
	}
}

// However late a commit comes, a name that was purged meanwhile has not been forgotten.
func TestFloorIsRaisedMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t)
	f.Must(coretest.Reserve("slug", "other", coretest.Token1))
	other := f.Reopened(map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	s.OnCommit = f.Once(s, func() {
		other.Must(coretest.Reserve("slug", "x", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token2})
		f.Clock.Advance(time.Hour)
		other.SweepAll()
		other.WantState("slug", "x", dibs.Free)
	})
	if n := f.One(coretest.Claim("slug", "x", coretest.User1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d again", n.Epoch)
	}
}

// A floor that cannot be read stops new names, and nothing else: taken for empty it would
// let epochs start over, and anybody's rules apply.
func TestFloorThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	f.Must(coretest.Reserve("slug", "old", coretest.Token1), coretest.Claim("slug", "mine", coretest.User1))
	f.Must(dibs.Release{ID: dibs.NameID("slug", "old"), Token: coretest.Token1})
	damaged := *f.NamespaceRecords()[0]
	damaged.Rev, damaged.Data = 2, []byte(`{"epoch":7,"re`)
	outcomes, err := f.Engine.Commit(f.Ctx, []dibs.Group{{
		Reads: []dibs.Read{{Ref: damaged.Ref(), Rev: 1}}, Writes: []dibs.Write{{Record: &damaged}},
	}})
	if err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
	for _, command := range []dibs.Command{
		coretest.Reserve("slug", "new", coretest.Token1),
		coretest.Claim("slug", "new", coretest.User2),
		coretest.Rename("slug", "new", coretest.User1),
		dibs.ReserveFirst{Namespace: "slug", Values: []string{"new"}},
		coretest.Reserve("slug", "old", coretest.Token2), // it has its own epoch, but nobody knows the rules any more
	} {
		f.Refused(dibs.ErrUnavailable, command)
	}
	f.Must(coretest.Reserve("other", "new", coretest.Token1))

	// Nor is anything purged: the floor could not be raised.
	f.Clock.Advance(time.Hour)
	_, err = f.Sweep(f.Ctx, 10)
	f.CheckError(err, dibs.ErrUnavailable)
	if !strings.Contains(err.Error(), `floor "slug"`) {
		t.Errorf("%q does not say which document it is", err)
	}
	f.NameOf("slug", "old")
}
