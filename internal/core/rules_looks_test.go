package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// A name that was given up under other rules does not lead anywhere when the rules are
// changed back: by these it is another name.
func TestRulesChangedBackAfterRelease(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "Alice", user1))
	g := f.reopened(folded())
	g.recanonicalize(false)
	g.must(decommission("slug", "alice", user1))
	f.recanonicalize(false)
	if n := f.one(claim("slug", "Alice", user1)); n.Canonical != "Alice" || n.ID != dibs.NameID("slug", "Alice") {
		t.Errorf("Alice is %s", n.Key())
	}
	f.must(claim("slug", "alice", user2))
	f.replayed(claim("slug", "Alice", user1))
}

// Asked for again, a Rename stands, whichever key has hidden the name.
func TestRenameIsReplayedAfterRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	again := dibs.Rename{Namespace: "email", Value: secretValue, Entity: user1, IfVersion: 1}
	f.must(claim("email", "old@example.com", user1))
	again.From = "old@example.com"
	f.must(again)
	f.reopened(blind(keyB, keyA)).replayed(again)
}

// What is kept back under a value that is not valid by new rules does not stand in
// their way: nobody can ask for it.
func TestRecanonicalizeInvalidQuarantine(t *testing.T) {
	t.Parallel()
	policy := exactly()["slug"]
	policy.Quarantine = time.Hour
	f := newFixture(t, map[string]dibs.Policy{"slug": policy})
	f.must(claim("slug", "what!", user1), decommission("slug", "what!", user1), claim("slug", "Alice", user2))
	policy.Profile = lower{}
	g := f.reopened(map[string]dibs.Policy{"slug": policy})
	if plan := g.recanonicalize(true); len(plan.Findings) != 1 {
		t.Errorf("plan: %+v", plan)
	}
	g.recanonicalize(false)
	g.must(claim("slug", "new", user3))
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
			f := newFixture(t, policies(dibs.Exact, time.Hour))
			f.must(claim("slug", "Alice", user2), decommission("slug", "Alice", user2))
			f.must(claim("slug", "alice", user1), rename("slug", "Alice", user1))
			f.reopened(policies(dibs.Exact, retention)).must(rename("slug", "other", user1))
			was, before := f.name("slug", "Alice"), f.name("slug", "alice")
			g := f.reopened(policies(lower{}, retention))
			g.recanonicalize(false)
			until := was.Until
			if !until.IsZero() && before.Until.After(until) {
				until = before.Until
			}
			if n := g.name("slug", "Alice"); n.Epoch != was.Epoch || !n.Until.Equal(until) {
				t.Errorf("at epoch %d until %s, it was at epoch %d until %s, the other until %s", n.Epoch, n.Until, was.Epoch, was.Until, before.Until)
			}
		})
	}
}

// Who held a name is told the same, however often the rules were changed meanwhile.
func TestWhoHeldAfterRulesChangedBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "Alice", user1))
	from := f.clock.Now()
	g := f.reopened(folded())
	for _, registry := range []*fixture{g, f, g, f} {
		f.clock.advance(time.Second)
		registry.recanonicalize(false)
	}
	for at := from; at.Before(f.clock.Now()); at = at.Add(500 * time.Millisecond) {
		if holder, err := f.WhoHeld(f.ctx, "slug", "Alice", at); err != nil || holder.Entity != user1 {
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
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "shop", user1))
	was := f.skeletons()[0].ID
	g := f.reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, HoldHistory: time.Hour}})
	if done := g.recanonicalize(false); done.Done != 1 {
		t.Errorf("%+v", done)
	}
	if left := f.skeletons(); len(left) != 1 || left[0].ID == was {
		t.Errorf("%d skeletons are left", len(left))
	}
	g.confusable(claim("slug", "ship", user2))
	g.must(claim("slug", "5hop", user2))
	none := f.reopened(exactly())
	none.recanonicalize(false)
	if left := f.skeletons(); len(left) != 0 {
		t.Errorf("%d skeletons are left where there are no look-alikes", len(left))
	}
}

// listingStore calls then after the names of a namespace were listed.
type listingStore struct {
	strictStore
	left int
	then func()
}

func (s *listingStore) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	records, err := s.strictStore.List(ctx, query)
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
			f := newFixture(t, exactly())
			hold := f.one(reserve("slug", "Held", token1))
			// It is listed for the plan, and once more to be changed.
			store := &listingStore{strictStore: strictStore{f.store, t}, left: 2, then: func() {
				f.must(dibs.Release{ID: hold.ID, Token: token1})
				if purged {
					f.clock.advance(time.Hour)
					f.sweep()
				}
			}}
			g := *f
			g.Registry = mustOpen(t, store, dibs.Config{Policies: folded()})
			if done := g.recanonicalize(false); done.Looked != 1 || done.Done != 0 {
				t.Errorf("%+v", done)
			}
			g.wantState("slug", "held", dibs.Free)
			if n, err := g.Get(g.ctx, dibs.Lookup{ID: hold.ID}); !purged && (err != nil || n.Canonical != "Held") {
				t.Errorf("%+v, %v", n, err)
			}
			g.must(claim("slug", "held", user1))
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
	f := newFixture(t, exactly())
	f.must(claim("slug", "ALICe", user1), rename("slug", "Alice", user1), rename("slug", "aLICE", user1))
	for _, profile := range []dibs.Profile{lower{}, upper{}, lower{}, upper{}} {
		f.clock.advance(time.Second)
		g := f.reopened(map[string]dibs.Policy{"slug": {Profile: profile, HoldHistory: time.Hour}})
		g.recanonicalize(false)
		history, err := g.History(g.ctx, "slug", "alice")
		if err != nil {
			t.Fatal(err)
		}
		if all := f.events(); len(history) != len(all) {
			t.Errorf("%d events under %s, want all %d", len(history), profile.Name(), len(all))
		}
	}
}

// A row that is new starts above what was purged, also for a name that is moved there.
func TestMoveStartsAboveTheFloor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "Alice", user1))
	for range 3 {
		token := dibs.NewToken()
		f.must(reserve("slug", "alice", token), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: token})
	}
	was := f.events()
	f.clock.advance(time.Hour)
	f.sweep()
	g := f.reopened(folded())
	g.recanonicalize(false)
	if n := g.name("slug", "alice"); n.Epoch <= 3 {
		t.Errorf("the epoch of alice went from 3 to %d", n.Epoch)
	}
	if history, err := g.History(g.ctx, "slug", "alice"); err != nil || history[len(history)-1].Rev <= was[len(was)-1].Rev {
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
			f := newFixture(t, exactly())
			f.must(claim("slug", confirmed, user1), decommission("slug", confirmed, user1))
			other := f.one(reserve("slug", "alice", token2))
			f.must(dibs.Release{ID: other.ID, Token: token2})
			hold := f.one(reserve("slug", "Alice", token1))
			g := f.reopened(folded())
			g.recanonicalize(false)
			g.must(dibs.Release{ID: hold.ID, Token: token1})
			f.clock.advance(2 * time.Hour)
			g.sweep()
			if n := g.name("slug", "alice"); n.State != dibs.Free {
				t.Errorf("%+v", n)
			}
		})
	}
}

// An entity's version tells that one of its aliases was moved; and a hold has no entity
// that it could tell of.
func TestMovedAliasRaisesVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "Alice", user1), rename("slug", "other", user1), reserve("slug", "Held", token1))
	before := f.version(user1)
	g := f.reopened(folded())
	g.recanonicalize(false)
	if after := g.version(user1); after != before+1 {
		t.Errorf("the version went from %d to %d", before, after)
	}
	nobody, err := f.store.Load(f.ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", dibs.Entity{})}})
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
	newFixture(t, blind(keys...)).must(claim("email", secretValue, user1))
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
