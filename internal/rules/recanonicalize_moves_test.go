package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A name that was given up under other rules does not lead anywhere when the rules are
// changed back: by these it is another name.
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

// What is kept back under a value that is not valid by new rules does not stand in
// their way: nobody can ask for it.
func TestRecanonicalizeInvalidQuarantine(t *testing.T) {
	t.Parallel()
	policy := coretest.ExactSlugs()["slug"]
	policy.Quarantine = time.Hour
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
	f.Must(coretest.Claim("slug", "what!", coretest.User1), coretest.Decommission("slug", "what!", coretest.User1), coretest.Claim("slug", "Alice", coretest.User2))
	policy.Profile = coretest.Lower{}
	g := f.Reopened(map[string]dibs.Policy{"slug": policy})
	if plan := g.MustRecanonicalize(true); len(plan.Findings) != 1 {
		t.Errorf("plan: %+v", plan)
	}
	g.MustRecanonicalize(false)
	g.Must(coretest.Claim("slug", "new", coretest.User3))
}

// Of two names that become one, the later epoch and the longer redirect stay.
func TestRecanonicalizeMergeKeepsTheMost(t *testing.T) {
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

// vowels is another skeleton than digits: vowels look alike.
type vowels struct{}

func (vowels) Name() string { return "vowels/1" }

func (vowels) Skeleton(canonical string) string {
	return strings.NewReplacer("e", "a", "i", "a", "o", "a", "u", "a").Replace(canonical)
}

// Under another skeleton other names look alike, and the former ones no more.
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
		t.Errorf("%d skeletons are left where there are no look-alikes", len(left))
	}
}

// A row that is new starts above what was purged, also for a name that is moved there.
func TestMoveStartsAboveTheFloor(t *testing.T) {
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
		t.Errorf("%+v, %v: the revision went back from %d", history, err, was[len(was)-1].Rev)
	}
}

// Whether the name was an entity's before, or its new row was: what was confirmed once
// is never purged.
func TestMovedIsKeptIfEitherWasConfirmed(t *testing.T) {
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

// An entity's version tells that one of its aliases was moved; and a hold has no entity
// that it could tell of.
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

// A process with other rules spells no name anew: what it takes for the same may be
// another one.
func TestNoRespellingByOtherRules(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.FoldedSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(coretest.ExactSlugs())
	g.MustRecanonicalize(false)
	f.Refused(dibs.ErrUnavailable, coretest.Rename("slug", "ALICE", coretest.User1))
	g.Must(coretest.Claim("slug", "ALICE", coretest.User2))
}

// With another skeleton, names leave the folders of the old one.
func TestSkeletonChanges(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{ManyPerEntity: true}))
	f.Must(coretest.Claim("slug", "sa1a", coretest.User1)) // like "sala" before, like "sa1a" since
	f.Must(coretest.Claim("slug", "sele", coretest.User2)) // like "sele" before, like "sala" since
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, ManyPerEntity: true}})
	g.MustRecanonicalize(false)
	g.Must(coretest.Claim("slug", "sola", coretest.User2))
	confusable(g, coretest.Claim("slug", "sila", coretest.User1))
}
