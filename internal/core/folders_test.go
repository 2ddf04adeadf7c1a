package core_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// A name that is purged and taken in the same batch is in its folders afterwards.
func TestPurgedAndTakenInOneBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, namespace, first, second string
		policies                       map[string]dibs.Policy
	}{
		{"look-alikes", "slug", "paypal", "paypa1", looks(dibs.Policy{})},
		{"blind", "email", "x@y", "x@y", blind(keyA)},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := newClock()
				engine := memstore.New(memstore.Config{Now: clock.Now})
				s := &spy{Store: strictStore{engine, t}}
				f := &fixture{
					Registry: mustOpen(t, s, dibs.Config{Suggestions: -1, Policies: c.policies}),
					t:        t, ctx: t.Context(), store: engine, clock: clock,
				}
				f.must(dibs.Reserve{Namespace: c.namespace, Value: c.first, TTL: dibs.For(time.Minute)})
				f.clock.advance(2 * time.Minute)
				f.sweep()
				f.clock.advance(2 * time.Hour) // to be purged
				nothing := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
				together(t, f, s, nothing, nil,
					nil, []dibs.Command{claim(c.namespace, c.first, user1)})
				s.commit = nil
				f.refused(dibs.ErrNameTaken, claim(c.namespace, c.second, user2))
			})
		})
	}
}

// A candidate that is refused leaves nothing that the one that is taken would rest on.
func TestReserveFirstPassesOverLookAlikes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "paypal", user1))
	if n := f.one(dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1", "other"}}); n.Canonical != "other" {
		t.Errorf("%+v", n)
	}
	g := newFixture(t, blind(keyB, keyA))
	g.must(claim("email", "paypal", user1))
	g.must(dibs.ReserveFirst{Namespace: "email", Values: []string{"paypa1", "other"}})
}

// A name can be purged after its folder has gone with another name of it.
func TestPurgeWithoutItsFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(dibs.Reserve{Namespace: "slug", Value: "paypal", TTL: dibs.For(time.Minute)})
	f.clock.advance(2 * time.Minute)
	short := looks(dibs.Policy{})["slug"]
	short.HoldHistory = time.Minute
	f.reopened(map[string]dibs.Policy{"slug": short}).
		must(dibs.Reserve{Namespace: "slug", Value: "paypa1", TTL: dibs.For(time.Minute)})
	for range 2 {
		f.clock.advance(5 * time.Minute)
		f.sweep()
	}
	if len(f.skeletons()) != 0 {
		t.Fatal("the folder is still there")
	}
	f.clock.advance(2 * time.Hour)
	f.sweep()
	f.sweep()
	for _, r := range f.dump().Records {
		if r.Ref().Kind != dibs.KindFloor {
			t.Errorf("left: %+v", r)
		}
	}
}

// caseless looks at no case.
type caseless struct{ digits }

func (caseless) Name() string { return "caseless/1" }

func (f caseless) Skeleton(canonical string) string {
	return f.digits.Skeleton(strings.ToLower(canonical))
}

// A folder that goes and comes again in a move starts above what it was, so that nobody
// who remembers the old one takes it for the new one.
func TestFolderRevisionNeverGoesBack(t *testing.T) {
	t.Parallel()
	exact := map[string]dibs.Policy{"slug": {Skeleton: caseless{}}}
	low := map[string]dibs.Policy{"slug": {Skeleton: caseless{}, Profile: lower{}}}
	one := newFixture(t, exact)
	two := one.reopened(exact)
	one.must(claim("slug", "paypa1", user1), decommission("slug", "paypa1", user1))
	two.must(claim("slug", "Paypal", user2))
	was := one.skeletons()[0].Rev
	for _, f := range []*fixture{two, one} {
		if err := f.SetPolicies(low, dibs.Policy{}); err != nil {
			t.Fatal(err)
		}
	}
	two.recanonicalize(false)
	if is := one.skeletons()[0].Rev; is <= was {
		t.Errorf("the revision went from %d to %d", was, is)
	}
	one.must(claim("slug", "zzz", user1)) // it knows the floor now, and remembers the folder
	one.confusable(claim("slug", "paypa1", user3))
}

// manyNames are more than one page of a run.
func manyNames(f *fixture, prefix string) {
	f.t.Helper()
	for i := range 600 {
		f.must(claim("slug", fmt.Sprintf("%s%04d", prefix, i), dibs.Entity{Type: "u", ID: fmt.Sprint(i)}))
	}
}

// A second run takes over: the first one ends, and changes nothing more.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	manyNames(f, "N")
	g, h := f.reopened(folded()), f.reopened(map[string]dibs.Policy{"slug": {Profile: upper{}}})
	begun := false
	_, err := g.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) {
		if begun {
			return
		}
		begun = true
		h.recanonicalize(false)
		h.must(claim("slug", "aaa", user1))
	}})
	f.checkError(err, dibs.ErrUnavailable)
	g.refused(dibs.ErrUnavailable, claim("slug", "aaa", user2))
	g.recanonicalize(false)
	for _, value := range []string{"AAA", "n0001", "N0599"} {
		g.refused(dibs.ErrNameTaken, reserve("slug", value, token1))
	}
}

// A run goes on by the policies that it began with.
func TestPoliciesChangeDuringARun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	manyNames(f, "Nn")
	g := f.reopened(folded())
	_, err := g.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) {
		if err := g.SetPolicies(map[string]dibs.Policy{"slug": {Profile: upper{}}}, dibs.Policy{}); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.reopened(folded()).refused(dibs.ErrNameTaken, reserve("slug", "nn0599", token1))
}

// After the rules went there and back, a name's history has nothing of the stranger who
// has the other one since.
func TestHistoryIsNoStrangers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(reserve("slug", "alice", token1), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: token1})
	f.clock.advance(time.Second)
	f.must(claim("slug", "Alice", user1))
	for _, rules := range []map[string]dibs.Policy{folded(), exactly()} {
		f.clock.advance(time.Second)
		f.reopened(rules).recanonicalize(false)
	}
	f.clock.advance(time.Second)
	f.must(claim("slug", "alice", user2))
	for second := range 5 {
		at := f.clock.Now().Add(-time.Duration(second) * time.Second)
		holder, err := f.WhoHeld(f.ctx, "slug", "Alice", at)
		if err != nil || (second < 3 && holder.Entity != user1) || holder.Entity == user2 {
			t.Errorf("%d s ago: %+v, %v", second, holder, err)
		}
	}
	h := f.reopened(map[string]dibs.Policy{"slug": {Profile: exactAgain{}}})
	if r, err := h.Resolve(f.ctx, "slug", "alice"); err != nil || r.Entity != user2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// exactAgain makes the same of a value as Exact, by another name.
type exactAgain struct{}

func (exactAgain) Name() string                           { return "exact/2" }
func (exactAgain) Canonical(value string) (string, error) { return value, nil }

// A process with other rules spells no name anew: what it takes for the same may be
// another one.
func TestNoRespellingByOtherRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, folded())
	f.must(claim("slug", "Alice", user1))
	g := f.reopened(exactly())
	g.recanonicalize(false)
	f.refused(dibs.ErrUnavailable, rename("slug", "ALICE", user1))
	g.must(claim("slug", "ALICE", user2))
}

// Free names that the newest key does not find lift the floor: should the old key go,
// their epochs do not start over.
func TestEpochsOutliveKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	for _, user := range []dibs.Entity{user1, user2, user3} {
		f.must(claim("email", "x@y", user), decommission("email", "x@y", user))
		f.clock.advance(time.Hour)
	}
	both := f.reopened(blind(keyB, keyA))
	if _, err := both.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "email"}); err != nil {
		t.Fatal(err)
	}
	if n := f.reopened(blind(keyB)).one(claim("email", "x@y", user1)); n.Epoch <= 3 {
		t.Errorf("the epoch went from 3 to %d", n.Epoch)
	}
}

// With another skeleton, names leave the folders of the old one.
func TestSkeletonChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{ManyPerEntity: true}))
	f.must(claim("slug", "sa1a", user1)) // like "sala" before, like "sa1a" since
	f.must(claim("slug", "sele", user2)) // like "sele" before, like "sala" since
	g := f.reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, ManyPerEntity: true}})
	g.recanonicalize(false)
	g.must(claim("slug", "sola", user2))
	g.confusable(claim("slug", "sila", user1))
}

// What rules call themselves is checked: a namespace's record is made of it.
func TestRulesHaveNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "mine blind", "a b", strings.Repeat("x", 201)} {
		_, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Default: dibs.Policy{Profile: calledSo{name}}})
		if err == nil || !strings.Contains(err.Error(), "the name of the profile") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

type calledSo struct{ name string }

func (c calledSo) Name() string                         { return c.name }
func (calledSo) Canonical(value string) (string, error) { return value, nil }
