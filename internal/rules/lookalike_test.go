package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Whatever state a name is in, look-alikes are kept from everybody but its entity for as
// long as the name itself is.
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
			f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{Quarantine: time.Hour}))
			f.Must(c.make...)
			foreign := []dibs.Command{
				coretest.Reserve("slug", "paypa1", coretest.Token2),
				dibs.Reserve{Namespace: "slug", Value: "paypa1", Entity: coretest.User2},
				coretest.Claim("slug", "paypa1", coretest.User2),
				coretest.Rename("slug", "paypa1", coretest.User2),
				dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1"}},
				dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "paypa1"}}},
			}
			available := f.CheckOne("slug", "paypa1")
			if available.Available == c.blocks || (c.blocks && available.Reason != dibs.ReasonConfusable) {
				t.Errorf("check: %+v", available)
			}
			if !c.blocks {
				f.Must(foreign[0])
				return
			}
			for _, command := range foreign {
				f.Confusable(command)
			}
			if c.own {
				f.Must(coretest.Rename("slug", "paypa1", coretest.User1))
			}
		})
	}
}

// A skeleton is free only when the last of its names is, by itself or by command.
func TestSkeletonIsFreeWhenTheLastIs(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1), coretest.Rename("slug", "paypa1", coretest.User1))
	f.Must(dibs.Decommission{Namespace: "slug", Value: "paypa1", Entity: coretest.User1})
	f.Confusable(coretest.Claim("slug", "paypa1", coretest.User2)) // "paypal" is an alias still
	f.Must(dibs.Delete{Entity: coretest.User1})
	f.Must(coretest.Reserve("slug", "paypa1", coretest.Token1))
	f.Clock.Advance(dibs.DefaultTTL - time.Millisecond)
	f.Confusable(coretest.Claim("slug", "paypal", coretest.User2))
	f.Clock.Advance(time.Millisecond) // the hold is over, swept or not
	f.Must(coretest.Claim("slug", "paypal", coretest.User2))
}

// Names of one entity that look alike cannot be parted.
func TestLookAlikesStayTogether(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1), coretest.Rename("slug", "paypa1", coretest.User1), coretest.Claim("slug", "shop", coretest.User2))
	f.Confusable(dibs.Transfer{Namespace: "slug", Value: "paypa1", From: coretest.User1, To: coretest.User3})
	f.Confusable(dibs.Transfer{Namespace: "slug", Value: "paypal", From: coretest.User1, To: coretest.User3})
	f.Confusable(dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "paypa1", Entity: coretest.User1}, B: dibs.Named{Value: "shop", Entity: coretest.User2},
	})
	f.Must(dibs.Decommission{Namespace: "slug", Value: "paypal", Entity: coretest.User1})
	f.Must(dibs.Transfer{Namespace: "slug", Value: "paypa1", From: coretest.User1, To: coretest.User3})
	f.Confusable(coretest.Claim("slug", "paypal", coretest.User1))
}

// What was never confirmed leaves nothing behind, also no skeleton; and one that comes
// again is not mistaken for the one before.
func TestSkeletonsArePurged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Reserve("slug", "paypal", coretest.Token1))
	first := f.Skeletons()[0].Rev
	f.Clock.Advance(dibs.DefaultTTL + time.Hour)
	f.SweepAll()
	f.SweepAll()
	if left := f.Skeletons(); len(left) != 0 {
		t.Fatalf("a purged name left %s", left[0].Data)
	}
	f.Must(coretest.Reserve("slug", "paypa1", coretest.Token2))
	if again := f.Skeletons()[0].Rev; again <= first {
		t.Errorf("the skeleton's revision went from %d to %d", first, again)
	}
}

// A skeleton that cannot be read gives nothing away.
func TestSkeletonThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	damaged := *f.Skeletons()[0]
	was := damaged.Rev
	damaged.Rev, damaged.Data = was+1, []byte("{")
	outcomes, err := f.Engine.Commit(f.Ctx, []dibs.Group{{
		Reads: []dibs.Read{{Ref: damaged.Ref(), Rev: was}}, Writes: []dibs.Write{{Record: &damaged}},
	}})
	if err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
	f.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "paypa1", coretest.User2))
	f.Must(coretest.Claim("slug", "other", coretest.User2))
}

// Suggestions do not look like names that are taken.
func TestSuggestionsAreNoLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "shop", coretest.User1), coretest.Claim("slug", "shop-s", coretest.User2))
	for _, name := range f.CheckOne("slug", "shop").Suggestions {
		if name == "shop-5" {
			t.Error("shop-5 was suggested, which looks like shop-s")
		}
		f.Must(coretest.Reserve("slug", name, dibs.NewToken()))
	}
}

// An entity cannot fill a skeleton without end.
func TestTooManyLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Looks(dibs.Policy{}))
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
