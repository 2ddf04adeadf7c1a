package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
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
		{"held", []dibs.Command{reserve("slug", "paypal", token1)}, true, false},
		{"held for", []dibs.Command{dibs.Reserve{Namespace: "slug", Value: "paypal", Token: token1, Entity: user1}}, true, true},
		{"released", []dibs.Command{reserve("slug", "paypal", token1), dibs.Release{ID: dibs.NameID("slug", "paypal"), Token: token1}}, false, true},
		{"active", []dibs.Command{claim("slug", "paypal", user1)}, true, true},
		{"alias", []dibs.Command{claim("slug", "paypal", user1), rename("slug", "other", user1)}, true, true},
		{"archived", []dibs.Command{claim("slug", "paypal", user1), dibs.Archive{Entity: user1}}, true, false},
		{"quarantined", []dibs.Command{claim("slug", "paypal", user1), dibs.Decommission{Namespace: "slug", Value: "paypal", Entity: user1}}, true, true},
	} {
		t.Run(c.state, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, looks(dibs.Policy{Quarantine: time.Hour}))
			f.must(c.make...)
			foreign := []dibs.Command{
				reserve("slug", "paypa1", token2),
				dibs.Reserve{Namespace: "slug", Value: "paypa1", Entity: user2},
				claim("slug", "paypa1", user2),
				rename("slug", "paypa1", user2),
				dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1"}},
				dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "paypa1"}}},
			}
			available := f.check("slug", "paypa1")
			if available.Available == c.blocks || (c.blocks && available.Reason != dibs.ReasonConfusable) {
				t.Errorf("check: %+v", available)
			}
			if !c.blocks {
				f.must(foreign[0])
				return
			}
			for _, command := range foreign {
				f.confusable(command)
			}
			if c.own {
				f.must(rename("slug", "paypa1", user1))
			}
		})
	}
}

// A skeleton is free only when the last of its names is, by itself or by command.
func TestSkeletonIsFreeWhenTheLastIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "paypal", user1), rename("slug", "paypa1", user1))
	f.must(dibs.Decommission{Namespace: "slug", Value: "paypa1", Entity: user1})
	f.confusable(claim("slug", "paypa1", user2)) // "paypal" is an alias still
	f.must(dibs.Delete{Entity: user1})
	f.must(reserve("slug", "paypa1", token1))
	f.clock.advance(dibs.DefaultTTL - time.Millisecond)
	f.confusable(claim("slug", "paypal", user2))
	f.clock.advance(time.Millisecond) // the hold is over, swept or not
	f.must(claim("slug", "paypal", user2))
}

// Names of one entity that look alike cannot be parted.
func TestLookAlikesStayTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "paypal", user1), rename("slug", "paypa1", user1), claim("slug", "shop", user2))
	f.confusable(dibs.Transfer{Namespace: "slug", Value: "paypa1", From: user1, To: user3})
	f.confusable(dibs.Transfer{Namespace: "slug", Value: "paypal", From: user1, To: user3})
	f.confusable(dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "paypa1", Entity: user1}, B: dibs.Named{Value: "shop", Entity: user2},
	})
	f.must(dibs.Decommission{Namespace: "slug", Value: "paypal", Entity: user1})
	f.must(dibs.Transfer{Namespace: "slug", Value: "paypa1", From: user1, To: user3})
	f.confusable(claim("slug", "paypal", user1))
}

// What was never confirmed leaves nothing behind, also no skeleton; and one that comes
// again is not mistaken for the one before.
func TestSkeletonsArePurged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(reserve("slug", "paypal", token1))
	first := f.skeletons()[0].Rev
	f.clock.advance(dibs.DefaultTTL + time.Hour)
	f.sweep()
	f.sweep()
	if left := f.skeletons(); len(left) != 0 {
		t.Fatalf("a purged name left %s", left[0].Data)
	}
	f.must(reserve("slug", "paypa1", token2))
	if again := f.skeletons()[0].Rev; again <= first {
		t.Errorf("the skeleton's revision went from %d to %d", first, again)
	}
}

// A skeleton that cannot be read gives nothing away.
func TestSkeletonThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "paypal", user1))
	damaged := *f.skeletons()[0]
	was := damaged.Rev
	damaged.Rev, damaged.Data = was+1, []byte("{")
	outcomes, err := f.store.Commit(f.ctx, []dibs.Group{{
		Reads: []dibs.Read{{Ref: damaged.Ref(), Rev: was}}, Writes: []dibs.Write{{Record: &damaged}},
	}})
	if err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
	f.refused(dibs.ErrUnavailable, claim("slug", "paypa1", user2))
	f.must(claim("slug", "other", user2))
}

// Suggestions do not look like names that are taken.
func TestSuggestionsAreNoLookAlikes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	f.must(claim("slug", "shop", user1), claim("slug", "shop-s", user2))
	for _, name := range f.check("slug", "shop").Suggestions {
		if name == "shop-5" {
			t.Error("shop-5 was suggested, which looks like shop-s")
		}
		f.must(reserve("slug", name, dibs.NewToken()))
	}
}

// An entity cannot fill a skeleton without end.
func TestTooManyLookAlikes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, looks(dibs.Policy{}))
	name := func(i int) string {
		return strings.NewReplacer("0", "l", "1", "1").Replace(strings.Repeat("0", 8-len(binary(i))) + binary(i))
	}
	for i := range 32 {
		f.must(rename("slug", name(i), user1))
	}
	f.refused(dibs.ErrTooLarge, rename("slug", name(32), user1))
	f.must(dibs.Decommission{Namespace: "slug", Value: name(0), Entity: user1})
	f.must(rename("slug", name(32), user1))
}

func binary(i int) string {
	if i < 2 {
		return string(rune('0' + i))
	}
	return binary(i/2) + binary(i%2)
}
