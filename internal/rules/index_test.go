package rules_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
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
		{"look-alikes", "slug", "paypal", "paypa1", coretest.NoLookAlikes(dibs.Policy{})},
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
				coretest.InOneBatch(f, s, nothing, nil,
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
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
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
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(dibs.Reserve{Namespace: "slug", Value: "paypal", TTL: dibs.For(time.Minute)})
	f.Clock.Advance(2 * time.Minute)
	short := coretest.NoLookAlikes(dibs.Policy{})["slug"]
	short.HoldHistory = time.Minute
	f.Reopened(map[string]dibs.Policy{"slug": short}).
		Must(dibs.Reserve{Namespace: "slug", Value: "paypa1", TTL: dibs.For(time.Minute)})
	for range 2 {
		f.Clock.Advance(5 * time.Minute)
		f.SweepAll()
	}
	if len(documents(f, dibs.KindSkeleton)) != 0 {
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
	was := documents(one, dibs.KindSkeleton)[0].Rev
	for _, f := range []*coretest.Fixture{two, one} {
		if err := f.SetPolicies(low, dibs.Policy{}); err != nil {
			t.Fatal(err)
		}
	}
	two.MustRecanonicalize(false)
	if is := documents(one, dibs.KindSkeleton)[0].Rev; is <= was {
		t.Errorf("the revision went from %d to %d", was, is)
	}
	one.Must(coretest.Claim("slug", "zzz", coretest.User1)) // it knows the floor now, and remembers the folder
	confusable(one, coretest.Claim("slug", "paypa1", coretest.User3))
}
