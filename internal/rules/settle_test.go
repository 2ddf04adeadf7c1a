package rules_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// An operator's word has the refusals of a Confirm.
func TestSettleExists(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, matrixPolicies())
	f.Must(coretest.ReserveFor(watched, coretest.Token1, coretest.User1))
	f.Clock.Advance(aHold)
	exists := func(entity dibs.Entity) dibs.Settle {
		return dibs.Settle{ID: dibs.NameID(watched, "x"), Verdict: dibs.Exists(entity)}
	}
	f.Refused(dibs.ErrNotOwner, exists(coretest.User2))
	f.Must(coretest.Claim(plain, "y", coretest.User1), dibs.Archive{Entity: coretest.User1})
	f.Refused(dibs.ErrEntityArchived, exists(coretest.User1))
	f.Must(dibs.Restore{Entity: coretest.User1}, coretest.Claim(watched, "y", coretest.User1))
	f.Refused(dibs.ErrEntityHasName, exists(coretest.User1))
	f.Must(coretest.Decommission(watched, "y", coretest.User1))
	if n := f.One(exists(coretest.User1)); n.State != dibs.Active || n.Entity != coretest.User1 || n.Epoch != 1 {
		t.Errorf("settled as %+v", n)
	}
	f.Replayed(exists(coretest.User1))
	coretest.WantKinds(t, f, watched, "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
}

// A suspect that came out of quarantine goes back into it, while it lasts.
func TestSettleAbsentOutOfQuarantine(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]dibs.State{0: dibs.Quarantined, anHour: dibs.Free} {
		policy := matrixPolicies()[watched]
		policy.Quarantine = anHour
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
		toHeldOut(f, "slug")
		f.Clock.Advance(aHold)
		f.WantState("slug", "x", dibs.Suspect)
		f.Clock.Advance(late)
		f.Must(dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent})
		f.WantState("slug", "x", want)
	}
}

// A verdict on a hold that is over by now, or another one's, changes nothing.
func TestLateTestimony(t *testing.T) {
	t.Parallel()
	var f *coretest.Fixture
	id := dibs.NameID("slug", "x")
	var settle func()
	policy := dibs.Policy{}
	w := &testimony{verdict: dibs.Exists(coretest.User2)}
	policy.Witness = w.meanwhile(func() { settle() })
	f = coretest.NewFixture(t, map[string]dibs.Policy{"slug": policy})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))

	settle = func() { f.Must(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}) }
	f.Clock.Advance(aHold)
	f.SweepAll()
	if n := f.NameOf("slug", "x"); n.Entity != coretest.User1 || n.Doubt != "" {
		t.Errorf("it became %v's, with the doubt %q", n.Entity, n.Doubt)
	}

	f.Must(coretest.Decommission("slug", "x", coretest.User1))
	again := dibs.NewToken()
	f.Must(coretest.Reserve("slug", "x", again))
	settle = func() {
		f.Must(dibs.Release{ID: id, Token: again}, coretest.Reserve("slug", "x", coretest.Token2))
		f.Clock.Advance(aHold) // the next hold is a suspect by now, but another one
	}
	f.Clock.Advance(aHold)
	if _, err := f.Sweep(f.Ctx, 1); err != nil { // more would ask about the next hold, too
		t.Fatal(err)
	}
	if n := f.NameOf("slug", "x"); n.State != dibs.Suspect || n.Epoch != 3 {
		t.Errorf("the verdict on epoch 2 made epoch %d %s", n.Epoch, n.State)
	}
}
