package core_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// An operator's word has the refusals of a Confirm.
func TestSettleExists(t *testing.T) {
	t.Parallel()
	f := newFixture(t, matrixPolicies())
	f.must(reserveFor(watched, token1, user1))
	f.clock.advance(aHold)
	exists := func(entity dibs.Entity) dibs.Settle {
		return dibs.Settle{ID: dibs.NameID(watched, "x"), Verdict: dibs.Exists(entity)}
	}
	f.refused(dibs.ErrNotOwner, exists(user2))
	f.must(claim(plain, "y", user1), dibs.Archive{Entity: user1})
	f.refused(dibs.ErrEntityArchived, exists(user1))
	f.must(dibs.Restore{Entity: user1}, claim(watched, "y", user1))
	f.refused(dibs.ErrEntityHasName, exists(user1))
	f.must(decommission(watched, "y", user1))
	if n := f.one(exists(user1)); n.State != dibs.Active || n.Entity != user1 || n.Epoch != 1 {
		t.Errorf("settled as %+v", n)
	}
	f.replayed(exists(user1))
	wantKinds(t, f, watched, "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
}

// A suspect that came out of quarantine goes back into it, while it lasts.
func TestSettleAbsentOutOfQuarantine(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]dibs.State{0: dibs.Quarantined, anHour: dibs.Free} {
		policy := matrixPolicies()[watched]
		policy.Quarantine = anHour
		f := newFixture(t, map[string]dibs.Policy{"slug": policy})
		toHeldOut(f, "slug")
		f.clock.advance(aHold)
		f.wantState("slug", "x", dibs.Suspect)
		f.clock.advance(late)
		f.must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
		f.wantState("slug", "x", want)
	}
}

// A verdict on a hold that is over by now, or another one's, changes nothing.
func TestLateTestimony(t *testing.T) {
	t.Parallel()
	var f *fixture
	id := dibs.NameID("slug", "x")
	var settle func()
	policy := dibs.Policy{}
	w := &testimony{verdict: dibs.Exists(user2)}
	policy.Witness = w.meanwhile(func() { settle() })
	f = newFixture(t, map[string]dibs.Policy{"slug": policy})
	f.must(reserve("slug", "x", token1))

	settle = func() { f.must(dibs.Confirm{ID: id, Token: token1, Entity: user1}) }
	f.clock.advance(aHold)
	f.sweep()
	if n := f.name("slug", "x"); n.Entity != user1 || n.Doubt != "" {
		t.Errorf("it became %v's, with the doubt %q", n.Entity, n.Doubt)
	}

	f.must(decommission("slug", "x", user1))
	again := dibs.NewToken()
	f.must(reserve("slug", "x", again))
	settle = func() {
		f.must(dibs.Release{ID: id, Token: again}, reserve("slug", "x", token2))
		f.clock.advance(aHold) // the next hold is a suspect by now, but another one
	}
	f.clock.advance(aHold)
	if _, err := f.Sweep(f.ctx, 1); err != nil { // more would ask about the next hold, too
		t.Fatal(err)
	}
	if n := f.name("slug", "x"); n.State != dibs.Suspect || n.Epoch != 3 {
		t.Errorf("the verdict on epoch 2 made epoch %d %s", n.Epoch, n.State)
	}
}
