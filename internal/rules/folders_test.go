package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// A name that is purged and taken in the same batch is in its folders afterwards.
func TestPurgedAndTakenInOneBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, namespace, first, second string
		policies                       map[string]dibs.Policy
	}{
		{"look-alikes", "slug", "paypal", "paypa1", coretest.Looks(dibs.Policy{})},
		{"blind", "email", "x@y", "x@y", blind(keyA)},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := coretest.NewClock()
				engine := memstore.New(memstore.Config{Now: clock.Now})
				s := &coretest.Spy{Store: coretest.StrictStore{Store: engine, T: t}}
				f := &coretest.Fixture{
					Registry: coretest.MustOpen(t, s, dibs.Config{Suggestions: -1, Policies: c.policies}),
					T:        t, Ctx: t.Context(), Engine: engine, Clock: clock,
				}
				f.Must(dibs.Reserve{Namespace: c.namespace, Value: c.first, TTL: dibs.For(time.Minute)})
				f.Clock.Advance(2 * time.Minute)
				f.SweepAll()
				f.Clock.Advance(2 * time.Hour) // to be purged
				nothing := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
				coretest.Together(t, f, s, nothing, nil,
					nil, []dibs.Command{coretest.Claim(c.namespace, c.first, coretest.User1)})
				s.OnCommit = nil
				f.Refused(dibs.ErrNameTaken, coretest.Claim(c.namespace, c.second, coretest.User2))
			})
		})
	}
}

// A candidate that is refused leaves nothing that the one that is taken would rest on.
func TestReserveFirstPassesOverLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	if n := f.One(dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1", "other"}}); n.Canonical != "other" {
		t.Errorf("%+v", n)
	}
	g := coretest.NewFixture(t, blind(keyB, keyA))
	g.Must(coretest.Claim("email", "paypal", coretest.User1))
	g.Must(dibs.ReserveFirst{Namespace: "email", Values: []string{"paypa1", "other"}})
}

// A name can be purged after its folder has gone with another name of it.
func TestPurgeWithoutItsFolder(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(dibs.Reserve{Namespace: "slug", Value: "paypal", TTL: dibs.For(time.Minute)})
	f.Clock.Advance(2 * time.Minute)
	short := coretest.Looks(dibs.Policy{})["slug"]
	short.HoldHistory = time.Minute
	f.Reopened(map[string]dibs.Policy{"slug": short}).
		Must(dibs.Reserve{Namespace: "slug", Value: "paypa1", TTL: dibs.For(time.Minute)})
	for range 2 {
		f.Clock.Advance(5 * time.Minute)
		f.SweepAll()
	}
	if len(f.Skeletons()) != 0 {
		t.Fatal("the folder is still there")
	}
	f.Clock.Advance(2 * time.Hour)
	f.SweepAll()
	f.SweepAll()
	for _, r := range f.Dump().Records {
		if r.Ref().Kind != dibs.KindFloor {
			t.Errorf("left: %+v", r)
		}
	}
}

// caseless looks at no case.
type caseless struct{ coretest.Digits }

func (caseless) Name() string { return "caseless/1" }

func (f caseless) Skeleton(canonical string) string {
	return f.Digits.Skeleton(strings.ToLower(canonical))
}

// A folder that goes and comes again in a move starts above what it was, so that nobody
// who remembers the old one takes it for the new one.
func TestFolderRevisionNeverGoesBack(t *testing.T) {
	t.Parallel()
	exact := map[string]dibs.Policy{"slug": {Skeleton: caseless{}}}
	low := map[string]dibs.Policy{"slug": {Skeleton: caseless{}, Profile: coretest.Lower{}}}
	one := coretest.NewFixture(t, exact)
	two := one.Reopened(exact)
	one.Must(coretest.Claim("slug", "paypa1", coretest.User1), coretest.Decommission("slug", "paypa1", coretest.User1))
	two.Must(coretest.Claim("slug", "Paypal", coretest.User2))
	was := one.Skeletons()[0].Rev
	for _, f := range []*coretest.Fixture{two, one} {
		if err := f.SetPolicies(low, dibs.Policy{}); err != nil {
			t.Fatal(err)
		}
	}
	two.MustRecanonicalize(false)
	if is := one.Skeletons()[0].Rev; is <= was {
		t.Errorf("the revision went from %d to %d", was, is)
	}
	one.Must(coretest.Claim("slug", "zzz", coretest.User1)) // it knows the floor now, and remembers the folder
	one.Confusable(coretest.Claim("slug", "paypa1", coretest.User3))
}

// manyNames are more than one page of a run.
func manyNames(f *coretest.Fixture, prefix string) {
	f.T.Helper()
	for i := range 600 {
		f.Must(coretest.Claim("slug", fmt.Sprintf("%s%04d", prefix, i), dibs.Entity{Type: "u", ID: fmt.Sprint(i)}))
	}
}

// A second run takes over: the first one ends, and changes nothing more.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	manyNames(f, "N")
	g, h := f.Reopened(folded()), f.Reopened(map[string]dibs.Policy{"slug": {Profile: upper{}}})
	begun := false
	_, err := g.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) {
		if begun {
			return
		}
		begun = true
		h.MustRecanonicalize(false)
		h.Must(coretest.Claim("slug", "aaa", coretest.User1))
	}})
	f.CheckError(err, dibs.ErrUnavailable)
	g.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "aaa", coretest.User2))
	g.MustRecanonicalize(false)
	for _, value := range []string{"AAA", "n0001", "N0599"} {
		g.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", value, coretest.Token1))
	}
}

// A run goes on by the policies that it began with.
func TestPoliciesChangeDuringARun(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	manyNames(f, "Nn")
	g := f.Reopened(folded())
	_, err := g.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) {
		if err := g.SetPolicies(map[string]dibs.Policy{"slug": {Profile: upper{}}}, dibs.Policy{}); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Reopened(folded()).Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "nn0599", coretest.Token1))
}

// After the rules went there and back, a name's history has nothing of the stranger who
// has the other one since.
func TestHistoryIsNoStrangers(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Reserve("slug", "alice", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: coretest.Token1})
	f.Clock.Advance(time.Second)
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	for _, rules := range []map[string]dibs.Policy{folded(), exactly()} {
		f.Clock.Advance(time.Second)
		f.Reopened(rules).MustRecanonicalize(false)
	}
	f.Clock.Advance(time.Second)
	f.Must(coretest.Claim("slug", "alice", coretest.User2))
	for second := range 5 {
		at := f.Clock.Now().Add(-time.Duration(second) * time.Second)
		holder, err := f.WhoHeld(f.Ctx, "slug", "Alice", at)
		if err != nil || (second < 3 && holder.Entity != coretest.User1) || holder.Entity == coretest.User2 {
			t.Errorf("%d s ago: %+v, %v", second, holder, err)
		}
	}
	h := f.Reopened(map[string]dibs.Policy{"slug": {Profile: exactAgain{}}})
	if r, err := h.Resolve(f.Ctx, "slug", "alice"); err != nil || r.Entity != coretest.User2 {
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
	f := coretest.NewFixture(t, folded())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(exactly())
	g.MustRecanonicalize(false)
	f.Refused(dibs.ErrUnavailable, coretest.Rename("slug", "ALICE", coretest.User1))
	g.Must(coretest.Claim("slug", "ALICE", coretest.User2))
}

// Free names that the newest key does not find lift the floor: should the old key go,
// their epochs do not start over.
func TestEpochsOutliveKeys(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	for _, user := range []dibs.Entity{coretest.User1, coretest.User2, coretest.User3} {
		f.Must(coretest.Claim("email", "x@y", user), coretest.Decommission("email", "x@y", user))
		f.Clock.Advance(time.Hour)
	}
	both := f.Reopened(blind(keyB, keyA))
	if _, err := both.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "email"}); err != nil {
		t.Fatal(err)
	}
	if n := f.Reopened(blind(keyB)).One(coretest.Claim("email", "x@y", coretest.User1)); n.Epoch <= 3 {
		t.Errorf("the epoch went from 3 to %d", n.Epoch)
	}
}

// With another skeleton, names leave the folders of the old one.
func TestSkeletonChanges(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{ManyPerEntity: true}))
	f.Must(coretest.Claim("slug", "sa1a", coretest.User1)) // like "sala" before, like "sa1a" since
	f.Must(coretest.Claim("slug", "sele", coretest.User2)) // like "sele" before, like "sala" since
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, ManyPerEntity: true}})
	g.MustRecanonicalize(false)
	g.Must(coretest.Claim("slug", "sola", coretest.User2))
	g.Confusable(coretest.Claim("slug", "sila", coretest.User1))
}

// What rules call themselves is checked: a namespace's record is made of it.
func TestRulesHaveNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "mine blind", "a b", strings.Repeat("x", 201)} {
		_, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Default: dibs.Policy{Profile: calledSo{name}}})
		if err == nil || !strings.Contains(err.Error(), "calls itself") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

type calledSo struct{ name string }

func (c calledSo) Name() string                         { return c.name }
func (calledSo) Canonical(value string) (string, error) { return value, nil }
