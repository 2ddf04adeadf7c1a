package rules_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A Settle with Exists is refused for the reasons of a Confirm.
func TestSettleExists(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, matrixPolicies())
	f.Must(reserveFor(watched, coretest.Token1, coretest.User1))
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
	f.WantKinds(watched, "x", dibs.EventReserved, dibs.EventSuspected, dibs.EventConfirmed)
}

// A suspect that was reserved out of quarantine returns to it until the quarantine ends.
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
