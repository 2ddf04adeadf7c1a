package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func TestMaxHolds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 2}})
	ann, bob := f.as("ann", 0), f.as("bob", 0)
	id := func(value string) dibs.ID { return dibs.NameID("slug", value) }
	full := func(who *fixture) (message string) {
		t.Helper()
		return who.refused(dibs.ErrTooManyHolds, reserve("slug", "more", token1)).Message
	}
	ann.must(reserve("slug", "a", token1))
	f.clock.advance(time.Minute)
	ann.must(reserve("slug", "b", token1))
	// The refusal says how long to wait: until the first one ends.
	if message, want := full(ann), f.clock.Now().Add(aHold-time.Minute).Format("15:04:05"); !strings.Contains(message, want) {
		t.Errorf("%q does not say %s", message, want)
	}
	ann.replayed(reserve("slug", "a", token1)) // no new hold
	ann.must(reserve("other", "a", token1))    // another namespace
	ann.refused(dibs.ErrNameTaken, reserve("slug", "a", token2))

	// Two principals do not share; nobody is one, too.
	bob.must(reserve("slug", "c", token1))
	f.must(reserve("slug", "d", token1))
	full(ann)

	// Releasing and confirming make room.
	ann.must(dibs.Release{ID: id("a"), Token: token1})
	ann.must(reserve("slug", "e", token1))
	full(ann)
	ann.must(dibs.Confirm{ID: id("b"), Token: token1, Entity: user1})
	ann.must(reserve("slug", "f", token1))
	full(ann)
	// So does renaming to a held name, and whoever acts for the holder.
	ann.must(dibs.Rename{Namespace: "slug", Value: "e", Entity: user1, Token: token1})
	ann.must(reserve("slug", "g", token1))
	full(ann)
	f.as("clerk", dibs.ActForOthers).must(dibs.Release{ID: id("g"), Token: token1})
	ann.must(reserve("slug", "g", token1+"2"))
	full(ann)

	// An extended hold counts for longer, a lapsed one does not count.
	ann.must(dibs.Extend{ID: id("g"), Token: token1 + "2", TTL: dibs.For(longHold)})
	full(ann)
	f.clock.advance(aHold - time.Millisecond)
	full(ann)
	f.clock.advance(time.Millisecond)
	ann.must(reserve("slug", "h", token1))
	full(ann)
	f.clock.advance(aHold) // g is over, by its extended end
	ann.must(reserve("slug", "i", token1), reserve("slug", "j", token1))
	full(ann)

	// The commands of one list see each other's holds.
	list, _ := numbered(3)
	bob.refused(dibs.ErrTooManyHolds, dibs.ReserveAll{Reservations: list})
	bob.must(dibs.ReserveAll{Reservations: list[:2]})
	// A name that is there for the asking is no reason to pass on to the next.
	bob.refused(dibs.ErrTooManyHolds, dibs.ReserveFirst{Namespace: "slug", Values: []string{"x", "y"}})
}

// Taking over one's own lapsed name counts once.
func TestMaxHoldsSameName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 1}})
	for range 3 {
		f.must(reserve("slug", "x", dibs.NewToken()))
		f.clock.advance(aHold)
	}
}

// A suspect that is settled as absent does not count any more.
func TestMaxHoldsSuspect(t *testing.T) {
	t.Parallel()
	policy := matrixPolicies()[watched]
	policy.MaxHolds = 1
	f := newFixture(t, map[string]dibs.Policy{"slug": policy})
	f.must(reserve("slug", "x", token1))
	f.clock.advance(aHold)
	f.must(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: token1})
	f.refused(dibs.ErrTooManyHolds, reserve("slug", "y", token1))
	f.clock.advance(aHold)
	f.must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
	f.must(reserve("slug", "y", token1))
}

// Who may act for others counts as the holder, with the token.
func TestActForOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann, clerk := f.as("ann", 0), f.as("clerk", dibs.ActForOthers)
	id := dibs.NameID("slug", "x")
	ann.must(reserve("slug", "x", token1))
	clerk.replayed(reserve("slug", "x", token1))
	clerk.refused(dibs.ErrNameTaken, reserve("slug", "x", token2))
	clerk.refused(dibs.ErrLost, dibs.Release{ID: id, Token: token2})
	clerk.must(dibs.Extend{ID: id, Token: token1, TTL: dibs.For(longHold)})
	clerk.must(dibs.Rename{Namespace: "slug", Value: "x", Entity: user1, Token: token1})
	clerk.replayed(dibs.Confirm{ID: id, Token: token1, Entity: user1})
	if n := f.name("slug", "x"); n.Principal != "ann" {
		t.Errorf("the hold became %s's", n.Principal)
	}
}
