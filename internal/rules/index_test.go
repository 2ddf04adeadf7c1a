package rules_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A name that is purged and taken in the same batch is under its index keys afterwards.
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
				f, s := coretest.NewSpy(t, c.policies)
				f.Must(dibs.Reserve{Namespace: c.namespace, Value: c.first, TTL: dibs.For(time.Minute)})
				f.Clock.Advance(2 * time.Minute)
				f.SweepAll()
				f.Clock.Advance(2 * time.Hour) // its row is due to be purged
				noChange := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
				coretest.InOneBatch(f, s, noChange, nil,
					nil, []dibs.Command{coretest.Claim(c.namespace, c.first, coretest.User1)})
				s.OnCommit = nil
				f.Refused(dibs.ErrNameTaken, coretest.Claim(c.namespace, c.second, coretest.User2))
			})
		})
	}
}

// A refused candidate of ReserveFirst leaves no reads behind for the candidate that is taken.
func TestReserveFirstPassesOverLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	if n := f.One(dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1", "other"}}); n.Canonical != "other" {
		t.Errorf("it reserved %+v, want other", n)
	}
	g := coretest.NewFixture(t, blind(keyB, keyA))
	g.Must(coretest.Claim("email", "paypal", coretest.User1))
	g.Must(dibs.ReserveFirst{Namespace: "email", Values: []string{"paypa1", "other"}})
}

// A name can be purged after its index document was deleted with another name.
func TestPurgeWithoutItsIndex(t *testing.T) {
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
		t.Fatal("the index document is still there")
	}
	f.Clock.Advance(2 * time.Hour)
	f.SweepAll()
	f.SweepAll()
	for _, r := range f.Dump().Records {
		if r.Ref().Kind != dibs.KindNamespace {
			t.Errorf("left: %+v", r)
		}
	}
}

// caseless is a skeleton that also ignores case.
type caseless struct{ coretest.Digits }

func (caseless) Name() string { return "caseless/1" }

func (f caseless) Skeleton(canonical string) string {
	return f.Digits.Skeleton(strings.ToLower(canonical))
}

// An index document that is deleted and written again by a move starts above its last revision, so
// that a registry that remembers the old document does not take it for the new one.
func TestIndexRevisionNeverGoesBack(t *testing.T) {
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
	one.Must(coretest.Claim("slug", "zzz", coretest.User1)) // loads the namespace record; the index document is remembered
	confusable(one, coretest.Claim("slug", "paypa1", coretest.User3))
}
