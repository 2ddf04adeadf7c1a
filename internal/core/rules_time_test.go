package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// A hold that ends at a millisecond is over at that very millisecond.
func TestHoldEndsExactly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	h := f.one(reserve("slug", "x", token1))
	end := h.ExpiresAt
	f.clock.advance(aHold - time.Millisecond)
	f.wantState("slug", "x", dibs.Held)
	if left, err := f.RemainingTTL(f.ctx, h.ID); err != nil || left != time.Millisecond {
		t.Errorf("%v left, %v", left, err)
	}
	e := f.refused(dibs.ErrNameTaken, claim("slug", "x", user1))
	if !e.Until.Equal(end) {
		t.Errorf("it may become free at %v, want %v", e.Until, end)
	}
	f.clock.advance(time.Millisecond)
	f.wantState("slug", "x", dibs.Free)
	if left, err := f.RemainingTTL(f.ctx, h.ID); err != nil || left != 0 {
		t.Errorf("%v left, %v", left, err)
	}
	f.refused(dibs.ErrAlreadyExpired, dibs.Confirm{ID: h.ID, Token: token1, Entity: user1})
	f.clock.advance(time.Hour)
	f.must(claim("slug", "x", user1))
	wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventExpired, dibs.EventClaimed)
	if at := f.events()[1].At.Time(); !at.Equal(end) {
		t.Errorf("the expiry is dated %v, want %v", at, end)
	}
}

// An alias redirects for its time, is kept back for its time, and is then free,
// without anybody sweeping.
func TestAliasByTimeAlone(t *testing.T) {
	t.Parallel()
	for _, swept := range []bool{false, true} {
		f := newFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour, Quarantine: 2 * time.Hour}})
		sweep := func() {
			if swept {
				f.sweep()
			}
		}
		f.must(claim("slug", "old", user1))
		f.must(rename("slug", "new", user1))
		began := f.clock.Now()
		version := f.version(user1)

		f.clock.advance(time.Hour - time.Millisecond)
		sweep()
		f.wantLeads("slug", "old", 301, "new")
		f.clock.advance(time.Millisecond)
		sweep()
		f.wantLeads("slug", "old", 410, "")
		e := f.refused(dibs.ErrNameTaken, claim("slug", "old", user2))
		if want := began.Add(3 * time.Hour); e.Reason != dibs.ReasonQuarantined || !e.Until.Equal(want) {
			t.Errorf("kept back for %s until %v, want %v", e.Reason, e.Until, want)
		}
		f.clock.advance(2*time.Hour - time.Millisecond)
		sweep()
		f.wantState("slug", "old", dibs.Quarantined)
		f.clock.advance(time.Millisecond)
		sweep()
		f.wantState("slug", "old", dibs.Free)
		f.wantLeads("slug", "old", 404, "")

		n := f.one(claim("slug", "old", user2))
		if n.Epoch != 2 {
			t.Errorf("the epoch is %d, want 2", n.Epoch)
		}
		wantKinds(t, f, "slug", "old",
			dibs.EventClaimed, dibs.EventDemoted, dibs.EventGivenUp, dibs.EventUnlocked, dibs.EventClaimed)
		events, _ := f.History(f.ctx, "slug", "old")
		if !events[2].At.Time().Equal(began.Add(time.Hour)) || !events[3].At.Time().Equal(began.Add(3*time.Hour)) {
			t.Errorf("given up at %s and unlocked at %s", events[2].At, events[3].At)
		}
		if v := f.version(user1); v != version+1 {
			t.Errorf("losing an alias took the entity from version %d to %d", version, v)
		}
	}
}

// A hold taken out of quarantine goes back into it until the original date,
// whichever way it ends.
func TestHoldOutOfQuarantine(t *testing.T) {
	t.Parallel()
	id := dibs.NameID(kept, "x")
	for name, c := range map[string]struct {
		end  func(f *fixture)
		want dibs.Status
	}{
		"released": {func(f *fixture) { f.must(dibs.Release{ID: id, Token: token1}) }, dibs.StatusReleased},
		"lapsed":   {func(f *fixture) { f.clock.advance(aHold) }, dibs.StatusExpired},
		"swept":    {func(f *fixture) { f.clock.advance(aHold); f.sweep() }, dibs.StatusExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, matrixPolicies())
			f.must(claim(kept, "x", user1))
			until := f.clock.Now().Add(anHour)
			f.must(decommission(kept, "x", user1))
			for range 2 { // again and again: the date stays
				f.clock.advance(time.Minute)
				token := dibs.NewToken()
				f.must(reserveFor(kept, token, user1))
				f.must(dibs.Release{ID: id, Token: token})
			}
			holdForOne(f, kept)
			c.end(f)
			n := f.name(kept, "x")
			if n.State != dibs.Quarantined || n.Status != c.want || !n.Until.Equal(until) {
				t.Errorf("it is %s, %s, until %v, want %v", n.State, n.Status, n.Until, until)
			}
			f.refused(dibs.ErrNameTaken, claim(kept, "x", user2))
			f.clock.advance(until.Sub(f.clock.Now()))
			f.must(claim(kept, "x", user2))
		})
	}
	t.Run("outlasts it", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, matrixPolicies())
		f.must(claim(kept, "x", user1))
		f.must(decommission(kept, "x", user1))
		f.clock.advance(anHour - time.Minute)
		holdForOne(f, kept)
		f.clock.advance(time.Minute) // the quarantine's date
		f.wantState(kept, "x", dibs.Held)
		f.must(dibs.Release{ID: id, Token: token1})
		f.wantState(kept, "x", dibs.Free)
		f.sweep()
		wantKinds(t, f, kept, "x", dibs.EventClaimed, dibs.EventGivenUp, dibs.EventReserved, dibs.EventReleased)
	})
	t.Run("confirmed", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, matrixPolicies())
		toHeldOut(f, kept)
		f.must(dibs.Confirm{ID: id, Token: token1, Entity: user1})
		f.clock.advance(2 * anHour)
		f.wantState(kept, "x", dibs.Active)
	})
}

// Rows that were never confirmed go after HoldHistory, and neither epochs nor
// revisions ever go back.
func TestPurge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	for range 3 {
		h := f.must(reserve("slug", "x", ""))[0]
		f.must(dibs.Release{ID: h.Names[0].ID, Token: h.Token})
	}
	f.must(claim("slug", "mine", user1))
	f.must(decommission("slug", "mine", user1))
	f.must(reserve("slug", "low", token1))
	last := f.name("slug", "x").Epoch
	rev := f.lastRev("slug", "x")

	f.clock.advance(time.Hour - time.Millisecond)
	f.sweep()
	f.name("slug", "x")
	f.clock.advance(time.Millisecond)
	f.sweep()
	if _, err := f.Get(f.ctx, dibs.Lookup{Namespace: "slug", Value: "x"}); !errors.Is(err, dibs.ErrNotFound) {
		t.Fatalf("the row is still there: %v", err)
	}
	wantKinds(t, f, "slug", "x")
	f.wantState("slug", "mine", dibs.Free)
	f.name("slug", "mine") // a name that was somebody's is never purged
	f.clock.advance(aHold)
	f.sweep()
	f.sweep()
	if _, err := f.Get(f.ctx, dibs.Lookup{Namespace: "slug", Value: "low"}); !errors.Is(err, dibs.ErrNotFound) {
		t.Fatalf("the row of a lapsed hold is still there: %v", err)
	}
	if r := f.sweep(); r.Looked != 0 {
		t.Errorf("a name that is never purged is due all the same: %+v", r)
	}
	// A purge of a low epoch does not lower what a high one left behind.
	for _, value := range []string{"x", "low", "never seen"} {
		n := f.one(claim("slug", value, dibs.Entity{Type: "user", ID: value}))
		if n.Epoch <= last || f.lastRev("slug", value) <= rev {
			t.Errorf("%s begins at epoch %d and revision %d, not above %d and %d",
				value, n.Epoch, f.lastRev("slug", value), last, rev)
		}
	}
	if n := f.one(claim("other", "x", user2)); n.Epoch != 1 {
		t.Errorf("another namespace begins at epoch %d", n.Epoch)
	}
}

// One purged name may have the highest epoch, another the highest revision.
func TestPurgeFloor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	for i := range 3 {
		f.must(reserve("slug", "epochs", fmt.Sprint(token1, i)))
		f.clock.advance(aHold)
		f.sweep()
		second := fmt.Sprint(token2, i)
		f.must(reserve("slug", "epochs", second))
		f.must(dibs.Release{ID: dibs.NameID("slug", "epochs"), Token: second})
	}
	f.clock.advance(time.Hour)
	f.sweep()
	f.must(claim("other", "x", user1))
	if n := f.one(reserve("slug", "revisions", token1)); n.Epoch != 7 {
		t.Fatalf("the epoch is %d", n.Epoch)
	}
	for i := range 20 {
		f.must(dibs.Extend{ID: dibs.NameID("slug", "revisions"), Token: token1, TTL: dibs.For(aHold + time.Duration(i+1)*time.Second)})
	}
	rev := f.lastRev("slug", "revisions")
	f.must(reserve("slug", "higher", token1), dibs.Release{ID: dibs.NameID("slug", "higher"), Token: token1})
	f.must(reserve("slug", "higher", token2), dibs.Release{ID: dibs.NameID("slug", "higher"), Token: token2})
	f.clock.advance(time.Hour) // "higher" goes first, with the higher epoch
	f.sweep()
	f.sweep()
	f.clock.advance(time.Hour)
	f.sweep()
	if n := f.one(claim("slug", "new", user2)); n.Epoch != 9 || f.lastRev("slug", "new") <= rev {
		t.Errorf("a new name begins at epoch %d and revision %d, not at 9 and above %d", n.Epoch, f.lastRev("slug", "new"), rev)
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {MaxHold: 20 * time.Minute}})
	h := f.one(reserve("slug", "x", token1))
	extend := func(d time.Duration) dibs.Extend {
		return dibs.Extend{ID: h.ID, Token: token1, TTL: dibs.For(d)}
	}
	f.replayed(extend(time.Minute)) // never shorter
	f.replayed(extend(aHold))       // not later
	f.replayed(dibs.Extend{ID: h.ID, Token: token1})
	f.clock.advance(time.Minute)
	n := f.one(dibs.Extend{ID: h.ID, Token: token1})
	if n.Remaining != aHold || n.Epoch != h.Epoch || !n.CreatedAt.Equal(h.CreatedAt) {
		t.Errorf("extended to %+v", n)
	}
	f.refused(dibs.ErrTTLTooLong, extend(19*time.Minute+time.Millisecond)) // past MaxHold since the hold began
	if n := f.one(extend(19 * time.Minute)); !n.ExpiresAt.Equal(h.CreatedAt.Add(20 * time.Minute)) {
		t.Errorf("it ends at %v", n.ExpiresAt)
	}
	f.as("ann", 0).refused(dibs.ErrLost, extend(time.Minute))
	if _, err := f.as("ann", dibs.ActForOthers).Extend(f.ctx, extend(time.Minute)); err != nil {
		t.Error(err)
	}
}
