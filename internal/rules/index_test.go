package rules_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// In each state of a name its look-alikes are refused to other entities for as long as the name
// itself is.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state string
		make  []dibs.Command
		blocks,
		own bool // the entity itself may have a look-alike
	}{
		{"held", []dibs.Command{coretest.Reserve("slug", "paypal", coretest.Token1)}, true, false},
		{"held for", []dibs.Command{dibs.Reserve{Namespace: "slug", Value: "paypal", Token: coretest.Token1, Entity: coretest.User1}}, true, true},
		{"released", []dibs.Command{coretest.Reserve("slug", "paypal", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "paypal"), Token: coretest.Token1}}, false, true},
		{"active", []dibs.Command{coretest.Claim("slug", "paypal", coretest.User1)}, true, true},
		{"alias", []dibs.Command{coretest.Claim("slug", "paypal", coretest.User1), coretest.Rename("slug", "other", coretest.User1)}, true, true},
		{"archived", []dibs.Command{coretest.Claim("slug", "paypal", coretest.User1), dibs.Archive{Entity: coretest.User1}}, true, false},
		{"quarantined", []dibs.Command{coretest.Claim("slug", "paypal", coretest.User1), dibs.Decommission{Namespace: "slug", Value: "paypal", Entity: coretest.User1}}, true, true},
	} {
		t.Run(c.state, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{Quarantine: time.Hour}))
			f.Must(c.make...)
			foreign := []dibs.Command{
				coretest.Reserve("slug", "paypa1", coretest.Token2),
				dibs.Reserve{Namespace: "slug", Value: "paypa1", Entity: coretest.User2},
				coretest.Claim("slug", "paypa1", coretest.User2),
				coretest.Rename("slug", "paypa1", coretest.User2),
				dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1"}},
				dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "paypa1"}}},
			}
			available := checkOne(f, "slug", "paypa1")
			if available.Available == c.blocks || (c.blocks && available.Reason != dibs.ReasonConfusable) {
				t.Errorf("check: %+v", available)
			}
			if !c.blocks {
				f.Must(foreign[0])
				return
			}
			for _, command := range foreign {
				confusable(f, command)
			}
			if c.own {
				f.Must(coretest.Rename("slug", "paypa1", coretest.User1))
			}
		})
	}
}

// A skeleton is free when the last of its names is, by time or by command.
func TestSkeletonIsFreeWithItsLastName(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1), coretest.Rename("slug", "paypa1", coretest.User1))
	f.Must(dibs.Decommission{Namespace: "slug", Value: "paypa1", Entity: coretest.User1})
	confusable(f, coretest.Claim("slug", "paypa1", coretest.User2)) // "paypal" is still an alias
	f.Must(dibs.Delete{Entity: coretest.User1})
	f.Must(coretest.Reserve("slug", "paypa1", coretest.Token1))
	f.Clock.Advance(dibs.DefaultTTL - time.Millisecond)
	confusable(f, coretest.Claim("slug", "paypal", coretest.User2))
	f.Clock.Advance(time.Millisecond) // the hold is over, without a sweep
	f.Must(coretest.Claim("slug", "paypal", coretest.User2))
}

// Names of one entity that look alike cannot go to different entities.
func TestLookAlikesStayTogether(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1), coretest.Rename("slug", "paypa1", coretest.User1), coretest.Claim("slug", "shop", coretest.User2))
	confusable(f, dibs.Transfer{Namespace: "slug", Value: "paypa1", From: coretest.User1, To: coretest.User3})
	confusable(f, dibs.Transfer{Namespace: "slug", Value: "paypal", From: coretest.User1, To: coretest.User3})
	confusable(f, dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "paypa1", Entity: coretest.User1}, B: dibs.Named{Value: "shop", Entity: coretest.User2},
	})
	f.Must(dibs.Decommission{Namespace: "slug", Value: "paypal", Entity: coretest.User1})
	f.Must(dibs.Transfer{Namespace: "slug", Value: "paypa1", From: coretest.User1, To: coretest.User3})
	confusable(f, coretest.Claim("slug", "paypal", coretest.User1))
}

// A name that was never confirmed leaves no skeleton behind. A skeleton that is written again has a
// higher revision than before.
func TestSkeletonsArePurged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Reserve("slug", "paypal", coretest.Token1))
	first := documents(f, dibs.KindSkeleton)[0].Rev
	f.Clock.Advance(dibs.DefaultTTL + time.Hour)
	f.SweepAll()
	f.SweepAll()
	if left := documents(f, dibs.KindSkeleton); len(left) != 0 {
		t.Fatalf("a purged name left %s", left[0].Data)
	}
	f.Must(coretest.Reserve("slug", "paypa1", coretest.Token2))
	if again := documents(f, dibs.KindSkeleton)[0].Rev; again <= first {
		t.Errorf("the skeleton's revision went from %d to %d", first, again)
	}
}

// A skeleton that cannot be read stops the names of its index key, and no others.
func TestSkeletonIsDamaged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	damage(f, documents(f, dibs.KindSkeleton)[0])
	f.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "paypa1", coretest.User2))
	f.Must(coretest.Claim("slug", "other", coretest.User2))
}

// Suggestions do not look like taken names.
func TestSuggestionsAreNoLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "shop", coretest.User1), coretest.Claim("slug", "shop-s", coretest.User2))
	answers, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"shop"}, Suggest: 8})
	if err != nil || len(answers[0].Suggestions) < 5 {
		t.Fatalf("%+v, %v", answers, err)
	}
	for _, name := range answers[0].Suggestions {
		if name == "shop-5" {
			t.Error("shop-5 was suggested, which looks like shop-s")
		}
		f.Must(coretest.Reserve("slug", name, dibs.NewToken()))
	}
}

// A decision that rests on a look-alike reads it, so that Commit notices if it changes.
func TestLookAlikesAreRead(t *testing.T) {
	t.Parallel()
	f, spy := coretest.NewSpy(t, coretest.NoLookAlikes(dibs.Policy{ManyPerEntity: true}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	groups := spy.LastGroups()
	f.Must(coretest.Claim("slug", "paypa1", coretest.User1))
	var names []dibs.ID
	for _, read := range (*groups)[0].Reads {
		if read.Ref.Kind == dibs.KindName {
			names = append(names, read.Ref.ID)
		}
	}
	if want := []dibs.ID{dibs.NameID("slug", "paypal"), dibs.NameID("slug", "paypa1")}; len(names) != 2 || !slices.Contains(names, want[0]) || !slices.Contains(names, want[1]) {
		t.Errorf("it read the names %v, want %v", names, want)
	}
}

// The number of names with one skeleton is limited.
func TestTooManyLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	name := func(i int) string {
		return strings.NewReplacer("0", "l", "1", "1").Replace(strings.Repeat("0", 8-len(binary(i))) + binary(i))
	}
	for i := range 32 {
		f.Must(coretest.Rename("slug", name(i), coretest.User1))
	}
	f.Refused(dibs.ErrTooLarge, coretest.Rename("slug", name(32), coretest.User1))
	f.Must(dibs.Decommission{Namespace: "slug", Value: name(0), Entity: coretest.User1})
	f.Must(coretest.Rename("slug", name(32), coretest.User1))
}

func binary(i int) string {
	if i < 2 {
		return string(rune('0' + i))
	}
	return binary(i/2) + binary(i%2)
}

// A name that is purged and taken in the same batch is under its index keys afterwards.
func TestPurgedAndTakenInOneBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, namespace, first, second string
		policies                       map[string]dibs.Policy
	}{
		{"look-alikes", "slug", "paypal", "paypa1", coretest.NoLookAlikes(dibs.Policy{})},
		{"blind", "email", "x@y", "x@y", blind(keyA)},
		{"blind without look-alikes", "email", "x@y", "x@y", map[string]dibs.Policy{"email": {Blind: []dibs.BlindKey{keyA}, HoldHistory: time.Hour}}},
	} {
		test := func(t *testing.T, f *coretest.Fixture, purgeAndTake func(purged dibs.ID, claim dibs.Command)) {
			t.Helper()
			hold := f.One(dibs.Reserve{Namespace: c.namespace, Value: c.first})
			f.Clock.Advance(aHold)
			f.SweepAll()
			f.Clock.Advance(time.Hour) // its row is due to be purged
			purgeAndTake(hold.ID, coretest.Claim(c.namespace, c.first, coretest.User1))
			if n := f.NameOf(c.namespace, c.first); n.State != dibs.Active || n.Epoch != 2 {
				t.Errorf("%+v", n)
			}
			f.Refused(dibs.ErrNameTaken, coretest.Claim(c.namespace, c.second, coretest.User2))
		}
		t.Run(c.kind+", by the rules", func(t *testing.T) {
			t.Parallel()
			f, set := coretest.NewFixture(t, c.policies), mustPolicies(t, c.policies)
			test(t, f, func(purged dibs.ID, claim dibs.Command) {
				commit(f, set.Sweep(dibs.Ref{Kind: dibs.KindName, ID: purged}).Request, mustApply(t, set, claim))
			})
		})
		t.Run(c.kind+", by the registry", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := coretest.NewSpy(t, c.policies)
				test(t, f, func(_ dibs.ID, claim dibs.Command) {
					noChange := func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }
					coretest.InOneBatch(f, s, noChange, nil, nil, []dibs.Command{claim})
					s.OnCommit = nil
				})
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

// An entry keeps its label, and loses a name that is purged.
func TestIndexEntryOfTwoNames(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	f.Must(dibs.Reserve{Namespace: "slug", Value: "paypa1", Entity: coretest.User1, Token: coretest.Token1})
	check := func(names ...string) {
		t.Helper()
		docs := documents(f, dibs.KindSkeleton)
		if len(docs) != 1 || docs[0].Label != "slug:"+docs[0].ID.String() {
			t.Fatalf("%+v", docs)
		}
		ids, err := rules.IndexedNames(docs[0])
		if err != nil || len(ids) != len(names) || ids[0] != dibs.NameID("slug", names[0]) {
			t.Errorf("%v, %v; want %v", ids, err, names)
		}
	}
	check("paypal", "paypa1")
	for range 2 {
		f.Clock.Advance(aHold + time.Hour)
		f.SweepAll()
	}
	check("paypal")
}
