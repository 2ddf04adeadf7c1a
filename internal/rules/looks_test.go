package rules_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// A name that was given up under other rules does not lead anywhere when the rules are
// changed back: by these it is another name.
func TestRulesChangedBackAfterRelease(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(folded())
	g.MustRecanonicalize(false)
	g.Must(coretest.Decommission("slug", "alice", coretest.User1))
	f.MustRecanonicalize(false)
	if n := f.One(coretest.Claim("slug", "Alice", coretest.User1)); n.Canonical != "Alice" || n.ID != dibs.NameID("slug", "Alice") {
		t.Errorf("Alice is %s", n.Key())
	}
	f.Must(coretest.Claim("slug", "alice", coretest.User2))
	f.Replayed(coretest.Claim("slug", "Alice", coretest.User1))
}

// Asked for again, a Rename stands, whichever key has hidden the name.
func TestRenameIsReplayedAfterRotation(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	again := dibs.Rename{Namespace: "email", Value: secretValue, Entity: coretest.User1, IfVersion: 1}
	f.Must(coretest.Claim("email", "old@example.com", coretest.User1))
	again.From = "old@example.com"
	f.Must(again)
	f.Reopened(blind(keyB, keyA)).Replayed(again)
}

// What is kept back under a value that is not valid by new rules does not stand in
// their way: nobody can ask for it.
func TestRecanonicalizeInvalidQuarantine(t *testing.T) {
	t.Parallel()
	policy := exactly()["slug"]
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

// Who held a name is told the same, however often the rules were changed meanwhile.
func TestWhoHeldAfterRulesChangedBack(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	from := f.Clock.Now()
	g := f.Reopened(folded())
	for _, registry := range []*coretest.Fixture{g, f, g, f} {
		f.Clock.Advance(time.Second)
		registry.MustRecanonicalize(false)
	}
	for at := from; at.Before(f.Clock.Now()); at = at.Add(500 * time.Millisecond) {
		if holder, err := f.WhoHeld(f.Ctx, "slug", "Alice", at); err != nil || holder.Entity != coretest.User1 {
			t.Errorf("at %s: %+v, %v", at, holder, err)
		}
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
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "shop", coretest.User1))
	was := f.Skeletons()[0].ID
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, HoldHistory: time.Hour}})
	if done := g.MustRecanonicalize(false); done.Done != 1 {
		t.Errorf("%+v", done)
	}
	if left := f.Skeletons(); len(left) != 1 || left[0].ID == was {
		t.Errorf("%d skeletons are left", len(left))
	}
	g.Confusable(coretest.Claim("slug", "ship", coretest.User2))
	g.Must(coretest.Claim("slug", "5hop", coretest.User2))
	none := f.Reopened(exactly())
	none.MustRecanonicalize(false)
	if left := f.Skeletons(); len(left) != 0 {
		t.Errorf("%d skeletons are left where there are no look-alikes", len(left))
	}
}

// listingStore calls then after the names of a namespace were listed.
type listingStore struct {
	coretest.StrictStore
	left int
	then func()
}

func (s *listingStore) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	records, err := s.StrictStore.List(ctx, query)
	if s.left--; s.left == 0 {
		s.then()
	}
	return records, err
}

// A name that becomes free after it was listed stays where it is; one that is gone is
// gone.
func TestRecanonicalizeWhatIsFreeMeanwhile(t *testing.T) {
	t.Parallel()
	for what, purged := range map[string]bool{"released": false, "purged": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, exactly())
			hold := f.One(coretest.Reserve("slug", "Held", coretest.Token1))
			// It is listed for the plan, and once more to be changed.
			store := &listingStore{StrictStore: coretest.StrictStore{Store: f.Engine, T: t}, left: 2, then: func() {
				f.Must(dibs.Release{ID: hold.ID, Token: coretest.Token1})
				if purged {
					f.Clock.Advance(time.Hour)
					f.SweepAll()
				}
			}}
			g := *f
			g.Registry = coretest.MustOpen(t, store, dibs.Config{Policies: folded()})
			if done := g.MustRecanonicalize(false); done.Looked != 1 || done.Done != 0 {
				t.Errorf("%+v", done)
			}
			g.WantState("slug", "held", dibs.Free)
			if n, err := g.Get(g.Ctx, dibs.Lookup{ID: hold.ID}); !purged && (err != nil || n.Canonical != "Held") {
				t.Errorf("%+v, %v", n, err)
			}
			g.Must(coretest.Claim("slug", "held", coretest.User1))
		})
	}
}

// upper is a third profile, under which no name is what it is under lower.
type upper struct{}

func (upper) Name() string                           { return "upper/1" }
func (upper) Canonical(value string) (string, error) { return strings.ToUpper(value), nil }

// A history has all events of a name from all rows that it was in, each of them once.
func TestHistoryOverManyRules(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "ALICe", coretest.User1), coretest.Rename("slug", "Alice", coretest.User1), coretest.Rename("slug", "aLICE", coretest.User1))
	for _, profile := range []dibs.Profile{coretest.Lower{}, upper{}, coretest.Lower{}, upper{}} {
		f.Clock.Advance(time.Second)
		g := f.Reopened(map[string]dibs.Policy{"slug": {Profile: profile, HoldHistory: time.Hour}})
		g.MustRecanonicalize(false)
		history, err := g.History(g.Ctx, "slug", "alice")
		if err != nil {
			t.Fatal(err)
		}
		if all := f.AllEvents(); len(history) != len(all) {
			t.Errorf("%d events under %s, want all %d", len(history), profile.Name(), len(all))
		}
	}
}

// A row that is new starts above what was purged, also for a name that is moved there.
func TestMoveStartsAboveTheFloor(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	for range 3 {
		token := dibs.NewToken()
		f.Must(coretest.Reserve("slug", "alice", token), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: token})
	}
	was := f.AllEvents()
	f.Clock.Advance(time.Hour)
	f.SweepAll()
	g := f.Reopened(folded())
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
			f := coretest.NewFixture(t, exactly())
			f.Must(coretest.Claim("slug", confirmed, coretest.User1), coretest.Decommission("slug", confirmed, coretest.User1))
			other := f.One(coretest.Reserve("slug", "alice", coretest.Token2))
			f.Must(dibs.Release{ID: other.ID, Token: coretest.Token2})
			hold := f.One(coretest.Reserve("slug", "Alice", coretest.Token1))
			g := f.Reopened(folded())
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
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Rename("slug", "other", coretest.User1), coretest.Reserve("slug", "Held", coretest.Token1))
	before := f.VersionOf(coretest.User1)
	g := f.Reopened(folded())
	g.MustRecanonicalize(false)
	if after := g.VersionOf(coretest.User1); after != before+1 {
		t.Errorf("the version went from %d to %d", before, after)
	}
	nobody, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", dibs.Entity{})}})
	if err != nil || len(nobody.Records) != 0 {
		t.Errorf("%+v, %v", nobody, err)
	}
}

// A policy may have four keys and no more, called by plain letters and digits.
func TestBlindKeys(t *testing.T) {
	t.Parallel()
	var keys []dibs.BlindKey
	for _, id := range []string{"a", "b", "c", "d"} {
		keys = append(keys, dibs.BlindKey{ID: id, Secret: keyA.Secret})
	}
	coretest.NewFixture(t, blind(keys...)).Must(coretest.Claim("email", secretValue, coretest.User1))
	_, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: blind(append(keys, dibs.BlindKey{ID: "e", Secret: keyA.Secret})...)})
	if err == nil {
		t.Error("five keys were taken")
	}
	for id, valid := range map[string]bool{
		"": false, "0": true, "9": true, "a": true, "z": true, "A": false, "/": false, ":": false, "`": false, "{": false,
		strings.Repeat("a", 16): true, strings.Repeat("a", 17): false,
	} {
		reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: blind(dibs.BlindKey{ID: id, Secret: keyA.Secret})})
		if (err == nil) != valid {
			t.Errorf("a key called %q: %v", id, err)
		}
		if err == nil {
			_ = reg.Close()
		}
	}
}
