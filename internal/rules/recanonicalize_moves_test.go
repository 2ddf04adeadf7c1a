package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A name that was given up under other rules has no owner when the rules are changed back: under
// these rules it is another name.
func TestRulesChangedBackAfterRelease(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	g.Must(coretest.Decommission("slug", "alice", coretest.User1))
	f.MustRecanonicalize(false)
	if n := f.One(coretest.Claim("slug", "Alice", coretest.User1)); n.Canonical != "Alice" || n.ID != dibs.NameID("slug", "Alice") {
		t.Errorf("Alice is %s", n.Key())
	}
	f.Must(coretest.Claim("slug", "alice", coretest.User2))
	f.Replayed(coretest.Claim("slug", "Alice", coretest.User1))
}

// When two names become one, the higher epoch and the longer redirect remain.
func TestRecanonicalizeMergeKeepsTheHigherEpoch(t *testing.T) {
	t.Parallel()
	for what, retention := range map[string]time.Duration{"for longer": 2 * time.Hour, "for ever": 0, "for less": time.Minute} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			policies := func(profile dibs.Profile, retention time.Duration) map[string]dibs.Policy {
				return map[string]dibs.Policy{"slug": {Profile: profile, HoldHistory: time.Hour, AliasRetention: retention}}
			}
			f := coretest.NewFixture(t, policies(dibs.Exact, time.Hour))
			f.Must(coretest.Claim("slug", "Alice", coretest.User2), coretest.Decommission("slug", "Alice", coretest.User2))
			f.Must(coretest.Claim("slug", "alice", coretest.User1), coretest.Rename("slug", "Alice", coretest.User1))
			f.Reopened(policies(dibs.Exact, retention)).Must(coretest.Rename("slug", "other", coretest.User1))
			was, before := f.NameOf("slug", "Alice"), f.NameOf("slug", "alice")
			g := f.Reopened(policies(coretest.Lower{}, retention))
			g.MustRecanonicalize(false)
			until := was.Until
			if !until.IsZero() && before.Until.After(until) {
				until = before.Until
			}
			if n := g.NameOf("slug", "Alice"); n.Epoch != was.Epoch || !n.Until.Equal(until) {
				t.Errorf("at epoch %d until %s, it was at epoch %d until %s, the other until %s", n.Epoch, n.Until, was.Epoch, was.Until, before.Until)
			}
		})
	}
}

// vowels is a skeleton under which all vowels look alike.
type vowels struct{}

func (vowels) Name() string { return "vowels/1" }

func (vowels) Skeleton(canonical string) string {
	return strings.NewReplacer("e", "a", "i", "a", "o", "a", "u", "a").Replace(canonical)
}

// Under another skeleton other names look alike, and the former look-alikes do not.
func TestRecanonicalizeToAnotherSkeleton(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "shop", coretest.User1))
	was := documents(f, dibs.KindSkeleton)[0].ID
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, HoldHistory: time.Hour}})
	if done := g.MustRecanonicalize(false); done.Done != 1 {
		t.Errorf("%+v", done)
	}
	if left := documents(f, dibs.KindSkeleton); len(left) != 1 || left[0].ID == was {
		t.Errorf("%d skeletons are left", len(left))
	}
	confusable(g, coretest.Claim("slug", "ship", coretest.User2))
	g.Must(coretest.Claim("slug", "5hop", coretest.User2))
	none := f.Reopened(coretest.ExactSlugs())
	none.MustRecanonicalize(false)
	if left := documents(f, dibs.KindSkeleton); len(left) != 0 {
		t.Errorf("%d skeletons are left under rules without look-alikes", len(left))
	}
}

// A name that moves into a new row starts above the purged epochs and revisions.
func TestMoveStartsAboveThePurged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	for range 3 {
		token := dibs.NewToken()
		f.Must(coretest.Reserve("slug", "alice", token), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: token})
	}
	was := f.AllEvents()
	f.Clock.Advance(time.Hour)
	f.SweepAll()
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	if n := g.NameOf("slug", "alice"); n.Epoch <= 3 {
		t.Errorf("the epoch of alice went from 3 to %d", n.Epoch)
	}
	if history, err := g.History(g.Ctx, "slug", "alice"); err != nil || history[len(history)-1].Rev <= was[len(was)-1].Rev {
		t.Errorf("%+v, %v: the revision is not above %d", history, err, was[len(was)-1].Rev)
	}
}

// A moved name is never purged if it was confirmed before, or if its new row was.
func TestMovedNameIsKeptIfEitherRowWasConfirmed(t *testing.T) {
	t.Parallel()
	for _, confirmed := range []string{"Alice", "alice"} {
		t.Run(confirmed, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, coretest.ExactSlugs())
			f.Must(coretest.Claim("slug", confirmed, coretest.User1), coretest.Decommission("slug", confirmed, coretest.User1))
			other := f.One(coretest.Reserve("slug", "alice", coretest.Token2))
			f.Must(dibs.Release{ID: other.ID, Token: coretest.Token2})
			hold := f.One(coretest.Reserve("slug", "Alice", coretest.Token1))
			g := f.Reopened(coretest.FoldedSlugs())
			g.MustRecanonicalize(false)
			g.Must(dibs.Release{ID: hold.ID, Token: coretest.Token1})
			f.Clock.Advance(2 * time.Hour)
			g.SweepAll()
			if n := g.NameOf("slug", "alice"); n.State != dibs.Free {
				t.Errorf("%+v", n)
			}
		})
	}
}

// The move of an alias raises the version of its entity. A hold has no entity.
func TestMovedAliasRaisesVersion(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Rename("slug", "other", coretest.User1), coretest.Reserve("slug", "Held", coretest.Token1))
	before := versionOf(f, coretest.User1)
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	if after := versionOf(g, coretest.User1); after != before+1 {
		t.Errorf("the version went from %d to %d", before, after)
	}
	nobody, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", dibs.Entity{})}})
	if err != nil || len(nobody.Records) != 0 {
		t.Errorf("%+v, %v", nobody, err)
	}
}

// A process with other rules does not respell a name: its canonical form may be another name.
func TestNoRespellUnderOtherRules(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.FoldedSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(coretest.ExactSlugs())
	g.MustRecanonicalize(false)
	f.Refused(dibs.ErrUnavailable, coretest.Rename("slug", "ALICE", coretest.User1))
	g.Must(coretest.Claim("slug", "ALICE", coretest.User2))
}

// With another skeleton, names leave the index keys of the old one.
func TestNamesLeaveTheOldSkeleton(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{ManyPerEntity: true}))
	f.Must(coretest.Claim("slug", "sa1a", coretest.User1)) // looks like "sala" before, like "sa1a" after
	f.Must(coretest.Claim("slug", "sele", coretest.User2)) // looks like "sele" before, like "sala" after
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, ManyPerEntity: true}})
	g.MustRecanonicalize(false)
	g.Must(coretest.Claim("slug", "sola", coretest.User2))
	confusable(g, coretest.Claim("slug", "sila", coretest.User1))
}
