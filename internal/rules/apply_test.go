package rules_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Each command of a list sees what those before it did.
func TestApplySees(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	id := dibs.NameID("slug", "x")
	f.Must(coretest.Claim("slug", "x", coretest.User1), dibs.Delete{Entity: coretest.User1})
	f.WantState("slug", "x", dibs.Free)
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Decommission("slug", "x", coretest.User1), coretest.Claim("slug", "x", coretest.User2))
	f.WantLeads("slug", "x", 200, "")
	f.WantActive(coretest.User2, "x")
	f.Must(dibs.Delete{Entity: coretest.User2}, coretest.Claim("slug", "x", coretest.User3))
	f.WantActive(coretest.User3, "x")
	f.Must(
		coretest.Decommission("slug", "x", coretest.User3), coretest.Reserve("slug", "x", coretest.Token1),
		dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}, coretest.Rename("slug", "y", coretest.User1),
	)
	f.WantLeads("slug", "x", 301, "y")
	// Each is a change of its own, to the version and in the feed.
	before := f.VersionOf(coretest.User1)
	f.Must(coretest.Rename("slug", "x", coretest.User1), coretest.Rename("slug", "y", coretest.User1), coretest.Rename("slug", "z", coretest.User1))
	if v := f.VersionOf(coretest.User1); v != before+3 {
		t.Errorf("three renames took the version from %d to %d", before, v)
	}
	revs := make(map[dibs.ID]uint64)
	for _, e := range f.AllEvents() {
		if e.ID.IsZero() {
			continue
		}
		if e.Rev != revs[e.ID]+1 {
			t.Errorf("%s of %s has revision %d after %d", e.Kind, e.Key(), e.Rev, revs[e.ID])
		}
		revs[e.ID] = e.Rev
	}
	results, err := f.Apply(f.Ctx, coretest.Claim("slug", "new", coretest.User2), coretest.Claim("slug", "new", coretest.User2))
	if err != nil || results[0].Replayed || !results[1].Replayed {
		t.Errorf("the same claim twice: %+v, %v", results, err)
	}
}

// One refused command undoes the whole list.
func TestApplyAllOrNone(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	e := f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "x", coretest.User1), coretest.Claim("slug", "x", coretest.User2))
	wantFailures(t, e, "1 NAME_TAKEN")
	f.WantState("slug", "x", dibs.Free)
	e = f.Refused(dibs.ErrEntityNotFound, dibs.Archive{Entity: coretest.User1}, coretest.Claim("slug", "x", coretest.User1), dibs.Archive{Entity: coretest.User1})
	wantFailures(t, e, "0 ENTITY_NOT_FOUND")
	f.Must(coretest.Reserve("slug", "y", coretest.Token1))
	e = f.Refused(dibs.ErrNameTaken,
		dibs.Release{ID: dibs.NameID("slug", "y"), Token: coretest.Token1}, coretest.Claim("slug", "y", coretest.User1),
		coretest.Claim("slug", "y", coretest.User2), coretest.Claim("slug", "z", coretest.User3))
	wantFailures(t, e, "2 NAME_TAKEN")
	f.WantState("slug", "y", dibs.Held)
	// A list of names within a list of commands.
	list, _ := numbered(2)
	e = f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "v1", coretest.User1), dibs.ReserveAll{Reservations: list})
	if len(e.Failures) != 1 || len(e.Failures[0].Err.Failures) != 1 || e.Failures[0].Err.Failures[0].Index != 1 {
		t.Errorf("the failures are %+v", e.Failures)
	}
}

// A deletion sees the names that its own list gave the entity.
func TestApplyDeleteCounts(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	withNames(f, 31, coretest.User1)
	r := f.Must(coretest.Claim("one", "x", coretest.User1), dibs.Delete{Entity: coretest.User1})[1]
	if r.Pending || len(r.Freed) != 32 {
		t.Errorf("32 names: pending %v, %d freed", r.Pending, len(r.Freed))
	}
	withNames(f, 32, coretest.User1)
	r = f.Must(coretest.Claim("one", "x", coretest.User1), dibs.Delete{Entity: coretest.User1})[1]
	if !r.Pending {
		t.Error("33 names are given up at once")
	}
	f.SweepAll()
	f.SweepAll()
	for i := range 32 {
		f.WantState(fmt.Sprintf("ns%02d", i), "x", dibs.Free)
	}
	f.WantState("one", "x", dibs.Free)
	// A name that the list only changed counts once, and another scope's not at all.
	withNames(f, 31, coretest.User1)
	r = f.Must(coretest.Claim("acme.slug", "x", coretest.User1), coretest.Rename("ns00", "y", coretest.User1), dibs.Delete{Entity: coretest.User1})[2]
	if r.Pending || len(r.Freed) != 32 {
		t.Errorf("32 names: pending %v, %d freed", r.Pending, len(r.Freed))
	}
	f.WantLeads("acme.slug", "x", 200, "")
	// Names that the list took away before are not given up again.
	f.Must(coretest.Claim("one", "x", coretest.User1), coretest.Claim("two", "x", coretest.User1))
	r = f.Must(
		coretest.Decommission("one", "x", coretest.User1), dibs.Transfer{Namespace: "two", Value: "x", From: coretest.User1, To: coretest.User2},
		dibs.Delete{Entity: coretest.User1},
	)[2]
	if len(r.Freed) != 0 {
		t.Errorf("it gave up %q", r.Freed)
	}
	f.WantActive(coretest.User2, "x")
}

// A dry run says what would happen, and nothing happens.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	before := f.Dump()
	results, err := f.DryRun(f.Ctx, coretest.Rename("slug", "y", coretest.User1), coretest.Claim("slug", "z", coretest.User2), dibs.Delete{Entity: coretest.User1})
	if err != nil || results[0].Names[0].State != dibs.Active || results[0].Version != 2 || len(results[2].Freed) != 2 {
		t.Errorf("it says %+v, %v", results, err)
	}
	_, err = f.DryRun(f.Ctx, coretest.Claim("slug", "x", coretest.User2))
	f.CheckError(err, dibs.ErrNameTaken)
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		t.Error("a dry run changed something")
	}
}

// An event says what was, what is, and who did it.
func TestEventsCarry(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, matrixPolicies())
	ann := f.ActAs("ann", 0)
	ann.Must(dibs.Reserve{Namespace: "acme.kept", Value: "x", Token: coretest.Token1, Entity: coretest.User1, CorrelationID: "c"})
	ann.Must(dibs.Confirm{ID: dibs.NameID("acme.kept", "x"), Token: coretest.Token1, Entity: coretest.User1})
	ann.Must(coretest.Decommission("acme.kept", "x", coretest.User1))
	f.Clock.Advance(anHour)
	f.SweepAll()
	events := f.AllEvents()
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if i > 0 && e.Before != events[i-1].After {
			t.Errorf("%s begins with %+v, not with %+v", e.Kind, e.Before, events[i-1].After)
		}
		wantActor, wantVersion := "ann", uint64(i)
		if e.Kind == dibs.EventUnlocked {
			wantActor, wantVersion = "", 0 // nobody did it, and nothing of the entity changed
		}
		if e.Actor != wantActor || e.Version != wantVersion || e.Entity != coretest.User1 || e.Scope != "acme" || e.CorrelationID != "c" {
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
	if s := events[0].Before; s.State != dibs.Free || s.Epoch != 0 {
		t.Errorf("the first event begins with %+v", s)
	}
	if s := events[2].After; s.State != dibs.Quarantined || s.Until.Time() != f.Clock.Now().UTC() {
		t.Errorf("it was given up to %+v", s)
	}
}
