package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A hold is over at the millisecond of its end.
func TestHoldEndsExactly(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	h := f.One(coretest.Reserve("slug", "x", coretest.Token1))
	end := h.ExpiresAt
	f.Clock.Advance(aHold - time.Millisecond)
	f.WantState("slug", "x", dibs.Held)
	if left, err := f.RemainingTTL(f.Ctx, h.ID); err != nil || left != time.Millisecond {
		t.Errorf("%v left, %v", left, err)
	}
	e := f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "x", coretest.User1))
	if !e.Until.Equal(end) {
		t.Errorf("the error says that it is taken until %v, want %v", e.Until, end)
	}
	f.Clock.Advance(time.Millisecond)
	f.WantState("slug", "x", dibs.Free)
	if left, err := f.RemainingTTL(f.Ctx, h.ID); err != nil || left != 0 {
		t.Errorf("%v left, %v", left, err)
	}
	f.Refused(dibs.ErrAlreadyExpired, dibs.Confirm{ID: h.ID, Token: coretest.Token1, Entity: coretest.User1})
	f.Clock.Advance(time.Hour)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventExpired, dibs.EventClaimed)
	if at := f.AllEvents()[1].At.Time(); !at.Equal(end) {
		t.Errorf("the expiry is dated %v, want %v", at, end)
	}
}

// An alias redirects for AliasRetention, is quarantined for Quarantine, and is then free, with or
// without sweeps.
func TestAliasByTimeAlone(t *testing.T) {
	t.Parallel()
	for _, swept := range []bool{false, true} {
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour, Quarantine: 2 * time.Hour}})
		sweep := func() {
			if swept {
				f.SweepAll()
			}
		}
		f.Must(coretest.Claim("slug", "old", coretest.User1))
		f.Must(coretest.Rename("slug", "new", coretest.User1))
		began := f.Clock.Now()
		version := versionOf(f, coretest.User1)

		f.Clock.Advance(time.Hour - time.Millisecond)
		sweep()
		f.WantResolve("slug", "old", 301, "new")
		f.Clock.Advance(time.Millisecond)
		sweep()
		f.WantResolve("slug", "old", 410, "")
		e := f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "old", coretest.User2))
		if want := began.Add(3 * time.Hour); e.Reason != dibs.ReasonQuarantined || !e.Until.Equal(want) {
			t.Errorf("taken because of %s until %v, want %v", e.Reason, e.Until, want)
		}
		f.Clock.Advance(2*time.Hour - time.Millisecond)
		sweep()
		f.WantState("slug", "old", dibs.Quarantined)
		f.Clock.Advance(time.Millisecond)
		sweep()
		f.WantState("slug", "old", dibs.Free)
		f.WantResolve("slug", "old", 404, "")

		n := f.One(coretest.Claim("slug", "old", coretest.User2))
		if n.Epoch != 2 {
			t.Errorf("the epoch is %d, want 2", n.Epoch)
		}
		f.WantKinds("slug", "old",
			dibs.EventClaimed, dibs.EventDemoted, dibs.EventGivenUp, dibs.EventUnlocked, dibs.EventClaimed)
		events, _ := f.History(f.Ctx, "slug", "old")
		if !events[2].At.Time().Equal(began.Add(time.Hour)) || !events[3].At.Time().Equal(began.Add(3*time.Hour)) {
			t.Errorf("given up at %s and unlocked at %s", events[2].At, events[3].At)
		}
		if v := versionOf(f, coretest.User1); v != version+1 {
			t.Errorf("losing an alias changed the version from %d to %d", version, v)
		}
	}
}

// A hold on a quarantined name returns to the quarantine until its original end, however the hold
// ends.
func TestHoldOutOfQuarantine(t *testing.T) {
	t.Parallel()
	id := dibs.NameID(kept, "x")
	for name, c := range map[string]struct {
		end  func(f *coretest.Fixture)
		want dibs.Status
	}{
		"released": {func(f *coretest.Fixture) { f.Must(dibs.Release{ID: id, Token: coretest.Token1}) }, dibs.StatusReleased},
		"lapsed":   {func(f *coretest.Fixture) { f.Clock.Advance(aHold) }, dibs.StatusExpired},
		"swept":    {func(f *coretest.Fixture) { f.Clock.Advance(aHold); f.SweepAll() }, dibs.StatusExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, matrixPolicies())
			f.Must(coretest.Claim(kept, "x", coretest.User1))
			until := f.Clock.Now().Add(anHour)
			f.Must(coretest.Decommission(kept, "x", coretest.User1))
			for range 2 { // again and again: the date stays
				f.Clock.Advance(time.Minute)
				token := dibs.NewToken()
				f.Must(reserveFor(kept, token, coretest.User1))
				f.Must(dibs.Release{ID: id, Token: token})
			}
			holdForOne(f, kept)
			c.end(f)
			n := f.NameOf(kept, "x")
			if n.State != dibs.Quarantined || n.Status != c.want || !n.Until.Equal(until) {
				t.Errorf("it is %s, %s, until %v, want %v", n.State, n.Status, n.Until, until)
			}
			f.Refused(dibs.ErrNameTaken, coretest.Claim(kept, "x", coretest.User2))
			f.Clock.Advance(until.Sub(f.Clock.Now()))
			f.Must(coretest.Claim(kept, "x", coretest.User2))
		})
	}
	t.Run("outlasts it", func(t *testing.T) {
		t.Parallel()
		f := coretest.NewFixture(t, matrixPolicies())
		f.Must(coretest.Claim(kept, "x", coretest.User1))
		f.Must(coretest.Decommission(kept, "x", coretest.User1))
		f.Clock.Advance(anHour - time.Minute)
		holdForOne(f, kept)
		f.Clock.Advance(time.Minute) // the quarantine's date
		f.WantState(kept, "x", dibs.Held)
		f.Must(dibs.Release{ID: id, Token: coretest.Token1})
		f.WantState(kept, "x", dibs.Free)
		f.SweepAll()
		f.WantKinds(kept, "x", dibs.EventClaimed, dibs.EventGivenUp, dibs.EventReserved, dibs.EventReleased)
	})
	t.Run("confirmed", func(t *testing.T) {
		t.Parallel()
		f := coretest.NewFixture(t, matrixPolicies())
		toHeldOut(f, kept)
		f.Must(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1})
		f.Clock.Advance(2 * anHour)
		f.WantState(kept, "x", dibs.Active)
	})
}

// Rows that were never confirmed are purged after HoldHistory. Neither epochs nor revisions ever go
// back.
func TestPurge(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	for range 3 {
		h := f.Must(coretest.Reserve("slug", "x", ""))[0]
		f.Must(dibs.Release{ID: h.Names[0].ID, Token: h.Token})
	}
	f.Must(coretest.Claim("slug", "mine", coretest.User1))
	f.Must(coretest.Decommission("slug", "mine", coretest.User1))
	f.Must(coretest.Reserve("slug", "low", coretest.Token1))
	last := f.NameOf("slug", "x").Epoch
	rev := lastRev(f, "slug", "x")

	f.Clock.Advance(time.Hour - time.Millisecond)
	f.SweepAll()
	f.NameOf("slug", "x")
	f.Clock.Advance(time.Millisecond)
	f.SweepAll()
	if _, err := f.Get(f.Ctx, dibs.Lookup{Namespace: "slug", Value: "x"}); !errors.Is(err, dibs.ErrNotFound) {
		t.Fatalf("the row is still there: %v", err)
	}
	f.WantKinds("slug", "x")
	f.WantState("slug", "mine", dibs.Free)
	f.NameOf("slug", "mine") // a name that was confirmed is never purged
	f.Clock.Advance(aHold)
	f.SweepAll()
	f.SweepAll()
	if _, err := f.Get(f.Ctx, dibs.Lookup{Namespace: "slug", Value: "low"}); !errors.Is(err, dibs.ErrNotFound) {
		t.Fatalf("the row of a lapsed hold is still there: %v", err)
	}
	if r := f.SweepAll(); r.Looked != 0 {
		t.Errorf("a name that is never purged is due: %+v", r)
	}
	// The purge of a low epoch does not lower the epoch in the namespace record.
	for _, value := range []string{"x", "low", "never seen"} {
		n := f.One(coretest.Claim("slug", value, dibs.Entity{Type: "user", ID: value}))
		if n.Epoch <= last || lastRev(f, "slug", value) <= rev {
			t.Errorf("%s begins at epoch %d and revision %d, not above %d and %d",
				value, n.Epoch, lastRev(f, "slug", value), last, rev)
		}
	}
	if n := f.One(coretest.Claim("other", "x", coretest.User2)); n.Epoch != 1 {
		t.Errorf("another namespace begins at epoch %d", n.Epoch)
	}
}

// One purged name may have the highest epoch, another the highest revision.
func TestPurgeKeepsTheHighestEpochAndRevision(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	for i := range 3 {
		f.Must(coretest.Reserve("slug", "epochs", fmt.Sprint(coretest.Token1, i)))
		f.Clock.Advance(aHold)
		f.SweepAll()
		second := fmt.Sprint(coretest.Token2, i)
		f.Must(coretest.Reserve("slug", "epochs", second))
		f.Must(dibs.Release{ID: dibs.NameID("slug", "epochs"), Token: second})
	}
	f.Clock.Advance(time.Hour)
	f.SweepAll()
	f.Must(coretest.Claim("other", "x", coretest.User1))
	if n := f.One(coretest.Reserve("slug", "revisions", coretest.Token1)); n.Epoch != 7 {
		t.Fatalf("the epoch is %d", n.Epoch)
	}
	for i := range 20 {
		f.Must(dibs.Extend{ID: dibs.NameID("slug", "revisions"), Token: coretest.Token1, TTL: dibs.For(aHold + time.Duration(i+1)*time.Second)})
	}
	rev := lastRev(f, "slug", "revisions")
	f.Must(coretest.Reserve("slug", "higher", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "higher"), Token: coretest.Token1})
	f.Must(coretest.Reserve("slug", "higher", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "higher"), Token: coretest.Token2})
	f.Clock.Advance(time.Hour) // "higher" is purged first, with the higher epoch
	f.SweepAll()
	f.SweepAll()
	f.Clock.Advance(time.Hour)
	f.SweepAll()
	if n := f.One(coretest.Claim("slug", "new", coretest.User2)); n.Epoch != 9 || lastRev(f, "slug", "new") <= rev {
		t.Errorf("a new name begins at epoch %d and revision %d, not at 9 and above %d", n.Epoch, lastRev(f, "slug", "new"), rev)
	}
}

// A purge that raises neither epoch nor revision does not write the namespace record, which every new
// name reads.
func TestPurgeRaisesTheRecordOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}})
	record := func() uint64 {
		t.Helper()
		records := f.Records(dibs.KindNamespace)
		if len(records) != 1 {
			t.Fatalf("%d namespace records", len(records))
		}
		return records[0].Revision()
	}
	for _, value := range []string{"first", "second"} {
		f.Must(coretest.Reserve("slug", value, coretest.Token1), dibs.Release{ID: dibs.NameID("slug", value), Token: coretest.Token1})
		f.Clock.Advance(time.Minute)
	}
	f.Clock.Advance(time.Hour - 2*time.Minute) // "first" is due
	f.SweepAll()
	once := record()
	f.Clock.Advance(time.Minute)
	f.SweepAll()
	if names := f.Records(dibs.KindName); len(names) != 0 || record() != once {
		t.Errorf("%d names are left, and the record is at %d, not %d", len(names), record(), once)
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHold: 20 * time.Minute}})
	h := f.One(coretest.Reserve("slug", "x", coretest.Token1))
	extend := func(d time.Duration) dibs.Extend {
		return dibs.Extend{ID: h.ID, Token: coretest.Token1, TTL: dibs.For(d)}
	}
	f.Replayed(extend(time.Minute)) // never shorter
	f.Replayed(extend(aHold))       // not later
	f.Replayed(dibs.Extend{ID: h.ID, Token: coretest.Token1})
	f.Clock.Advance(time.Minute)
	n := f.One(dibs.Extend{ID: h.ID, Token: coretest.Token1})
	if n.Remaining != aHold || n.Epoch != h.Epoch || !n.CreatedAt.Equal(h.CreatedAt) {
		t.Errorf("extended to %+v", n)
	}
	f.Refused(dibs.ErrTTLTooLong, extend(19*time.Minute+time.Millisecond)) // past MaxHold since the hold began
	if n := f.One(extend(19 * time.Minute)); !n.ExpiresAt.Equal(h.CreatedAt.Add(20 * time.Minute)) {
		t.Errorf("it ends at %v", n.ExpiresAt)
	}
	f.ActAs("ann", 0).Refused(dibs.ErrLost, extend(time.Minute))
	if _, err := f.ActAs("ann", dibs.ActForOthers).Extend(f.Ctx, extend(time.Minute)); err != nil {
		t.Error(err)
	}
}

// A name that was never confirmed leaves nothing behind but the namespace record.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	r := dibs.Reserve{
		Namespace: "email", Value: "lapsed@example.org", Token: coretest.Token1, Entity: coretest.Alice,
		CorrelationID: "order of alice", Meta: map[string]string{"by": "alice"},
	}
	plain := r
	plain.Namespace = "plain"
	epochs := []uint64{f.One(r).Epoch, f.One(plain).Epoch}
	f.Clock.Advance(dibs.DefaultTTL + 31*24*time.Hour)
	for f.SweepAll().Changed > 0 { // the hold expires, and then its row is purged
		continue
	}
	f.WantNoTrace("alice")
	f.WantNoTrace("lapsed@example.org")
	if len(f.AllEvents()) > 0 {
		t.Errorf("%d events are left", len(f.AllEvents()))
	}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindHash, dibs.KindSkeleton} {
		if records, _ := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("still stored: %+v", records[0])
		}
	}
	for i, again := range []dibs.Reserve{r, plain} {
		if n := f.One(again); n.Epoch <= epochs[i] {
			t.Errorf("%s starts over at epoch %d", n.Key(), n.Epoch)
		}
	}
}

// A sweep may be given records that another sweep has handled already. It reads them again, and
// leaves alone what is not due or does not exist.
func TestSweepOfWhatIsNotDue(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	f.Must(coretest.Claim("slug", "mine", coretest.User1), coretest.Claim("slug", "gone", coretest.User2), coretest.Reserve("slug", "held", coretest.Token1))
	f.Must(coretest.Reserve("slug", "let go", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "let go"), Token: coretest.Token1})
	f.Must(dibs.Delete{Entity: coretest.User2})
	f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "mine", coretest.User3))
	if _, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{}); err != nil { // writes the counter to the engine
		t.Fatal(err)
	}
	refs := []dibs.Ref{
		{Kind: dibs.KindName, ID: dibs.NameID("slug", "absent")},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User1)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User2)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User3)},
		{Kind: dibs.KindTally, ID: dibs.NameID("no", "tally")},
	}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindTally} {
		records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 100})
		if err != nil || len(records) == 0 {
			t.Fatal(err, len(records))
		}
		for _, r := range records {
			refs = append(refs, r.Ref())
		}
	}
	load := func() []any {
		loaded, err := f.Engine.Load(f.Ctx, refs)
		if err != nil {
			t.Fatal(err)
		}
		return []any{loaded.Records, f.AllEvents()}
	}
	before := load()
	s.DueRefs = refs
	if r := f.SweepAll(); r.Looked != len(refs) || r.Changed != 0 {
		t.Errorf("the sweep reports %+v", r)
	}
	if !reflect.DeepEqual(before, load()) {
		t.Error("the sweep changed something that is not due")
	}
}

// A sweep deletes the counters of refusals after ConflictHistory.
func TestSweepTallies(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "mine", coretest.User1))
	f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "mine", coretest.User2))
	count := func() int {
		buckets, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(buckets)
	}
	count() // writes the counter to the engine
	f.Clock.Advance(90*24*time.Hour - time.Millisecond)
	f.SweepAll()
	if n := count(); n != 1 {
		t.Errorf("%d counters, want 1", n)
	}
	f.Clock.Advance(time.Millisecond)
	f.SweepAll()
	if n := count(); n != 0 {
		t.Errorf("%d counters, want none", n)
	}
}

// eager is a store whose Due always returns the same records.
type eager struct {
	dibs.Store
	refs []dibs.Ref
}

func (e *eager) Due(context.Context, int) ([]dibs.Ref, error) { return e.refs, nil }

// Two sweepers are given the same suspect. The second finds that the witness has just been asked,
// and does not ask again.
func TestSweepAsksOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	policies := map[string]dibs.Policy{"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		asked++
		return dibs.Unknown, nil
	}}}
	f := coretest.NewFixture(t, policies)
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	late := coretest.MustOpen(t, &eager{f.Engine, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", "x")}}}, dibs.Config{Policies: policies})
	f.SweepAll()
	if _, err := late.Sweep(f.Ctx, 1); err != nil {
		t.Fatal(err)
	}
	if asked != 1 {
		t.Errorf("the witness was asked %d times", asked)
	}
}
