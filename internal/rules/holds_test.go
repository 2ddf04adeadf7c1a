package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

func TestMaxHolds(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 2}})
	ann, bob := f.ActAs("ann", 0), f.ActAs("bob", 0)
	id := func(value string) dibs.ID { return dibs.NameID("slug", value) }
	full := func(who *coretest.Fixture) (message string) {
		t.Helper()
		return who.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "more", coretest.Token1)).Message
	}
	ann.Must(coretest.Reserve("slug", "a", coretest.Token1))
	f.Clock.Advance(time.Minute)
	ann.Must(coretest.Reserve("slug", "b", coretest.Token1))
	// The refusal says how long to wait: until the first one ends.
	if message, want := full(ann), f.Clock.Now().Add(aHold-time.Minute).Format("15:04:05"); !strings.Contains(message, want) {
		t.Errorf("%q does not say %s", message, want)
	}
	ann.Replayed(coretest.Reserve("slug", "a", coretest.Token1)) // no new hold
	ann.Must(coretest.Reserve("other", "a", coretest.Token1))    // another namespace
	ann.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "a", coretest.Token2))

	// Two principals do not share; nobody is one, too.
	bob.Must(coretest.Reserve("slug", "c", coretest.Token1))
	f.Must(coretest.Reserve("slug", "d", coretest.Token1))
	full(ann)

	// Releasing and confirming make room.
	ann.Must(dibs.Release{ID: id("a"), Token: coretest.Token1})
	ann.Must(coretest.Reserve("slug", "e", coretest.Token1))
	full(ann)
	ann.Must(dibs.Confirm{ID: id("b"), Token: coretest.Token1, Entity: coretest.User1})
	ann.Must(coretest.Reserve("slug", "f", coretest.Token1))
	full(ann)
	// So does renaming to a held name, and whoever acts for the holder.
	ann.Must(dibs.Rename{Namespace: "slug", Value: "e", Entity: coretest.User1, Token: coretest.Token1})
	ann.Must(coretest.Reserve("slug", "g", coretest.Token1))
	full(ann)
	f.ActAs("clerk", dibs.ActForOthers).Must(dibs.Release{ID: id("g"), Token: coretest.Token1})
	ann.Must(coretest.Reserve("slug", "g", coretest.Token1+"2"))
	full(ann)

	// An extended hold counts for longer, a lapsed one does not count.
	ann.Must(dibs.Extend{ID: id("g"), Token: coretest.Token1 + "2", TTL: dibs.For(longHold)})
	full(ann)
	f.Clock.Advance(aHold - time.Millisecond)
	full(ann)
	f.Clock.Advance(time.Millisecond)
	ann.Must(coretest.Reserve("slug", "h", coretest.Token1))
	full(ann)
	f.Clock.Advance(aHold) // g is over, by its extended end
	ann.Must(coretest.Reserve("slug", "i", coretest.Token1), coretest.Reserve("slug", "j", coretest.Token1))
	full(ann)

	// The commands of one list see each other's holds.
	list, _ := numbered(3)
	bob.Refused(dibs.ErrTooManyHolds, dibs.ReserveAll{Reservations: list})
	bob.Must(dibs.ReserveAll{Reservations: list[:2]})
	// A name that is there for the asking is no reason to pass on to the next.
	bob.Refused(dibs.ErrTooManyHolds, dibs.ReserveFirst{Namespace: "slug", Values: []string{"x", "y"}})
}

// Taking over one's own lapsed name counts once.
func TestMaxHoldsSameName(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 1}})
	for range 3 {
		f.Must(coretest.Reserve("slug", "x", dibs.NewToken()))
		f.Clock.Advance(aHold)
	}
}

// A suspect that is settled as absent does not count any more.
func TestMaxHoldsSuspect(t *testing.T) {
	t.Parallel()
	policy := matrixPolicies()[watched]
	policy.MaxHolds = 1
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	f.Must(dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1})
	f.Refused(dibs.ErrTooManyHolds, coretest.Reserve("slug", "y", coretest.Token1))
	f.Clock.Advance(aHold)
	f.Must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
	f.Must(coretest.Reserve("slug", "y", coretest.Token1))
}

// Who may act for others counts as the holder, with the token.
func TestActForOthers(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	ann, clerk := f.ActAs("ann", 0), f.ActAs("clerk", dibs.ActForOthers)
	id := dibs.NameID("slug", "x")
	ann.Must(coretest.Reserve("slug", "x", coretest.Token1))
	clerk.Replayed(coretest.Reserve("slug", "x", coretest.Token1))
	clerk.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "x", coretest.Token2))
	clerk.Refused(dibs.ErrLost, dibs.Release{ID: id, Token: coretest.Token2})
	clerk.Must(dibs.Extend{ID: id, Token: coretest.Token1, TTL: dibs.For(longHold)})
	clerk.Must(dibs.Rename{Namespace: "slug", Value: "x", Entity: coretest.User1, Token: coretest.Token1})
	clerk.Replayed(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1})
	if n := f.NameOf("slug", "x"); n.Principal != "ann" {
		t.Errorf("the hold became %s's", n.Principal)
	}
}
