package rules_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Each command of a list sees the changes of the commands before it.
func TestApplySeesEarlierCommands(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	id := dibs.NameID("slug", "x")
	f.Must(coretest.Claim("slug", "x", coretest.User1), dibs.Delete{Entity: coretest.User1})
	f.WantState("slug", "x", dibs.Free)
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Decommission("slug", "x", coretest.User1), coretest.Claim("slug", "x", coretest.User2))
	f.WantResolve("slug", "x", 200, "")
	f.WantActive(coretest.User2, "x")
	f.Must(dibs.Delete{Entity: coretest.User2}, coretest.Claim("slug", "x", coretest.User3))
	f.WantActive(coretest.User3, "x")
	f.Must(
		coretest.Decommission("slug", "x", coretest.User3), coretest.Reserve("slug", "x", coretest.Token1),
		dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}, coretest.Rename("slug", "y", coretest.User1),
	)
	f.WantResolve("slug", "x", 301, "y")
	// Each command raises the version and adds an event.
	before := versionOf(f, coretest.User1)
	f.Must(coretest.Rename("slug", "x", coretest.User1), coretest.Rename("slug", "y", coretest.User1), coretest.Rename("slug", "z", coretest.User1))
	if v := versionOf(f, coretest.User1); v != before+3 {
		t.Errorf("three renames raised the version from %d to %d", before, v)
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

// One refused command refuses the whole list.
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

// A Delete sees the names that its own list gave the entity.
func TestApplyDeleteSeesItsList(t *testing.T) {
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
		t.Error("33 names are given up in one step, want a pending deletion")
	}
	f.SweepAll()
	f.SweepAll()
	for i := range 32 {
		f.WantState(fmt.Sprintf("ns%02d", i), "x", dibs.Free)
	}
	f.WantState("one", "x", dibs.Free)
	// A name that the list only changed counts once. A name of another scope does not count.
	withNames(f, 31, coretest.User1)
	r = f.Must(coretest.Claim("acme.slug", "x", coretest.User1), coretest.Rename("ns00", "y", coretest.User1), dibs.Delete{Entity: coretest.User1})[2]
	if r.Pending || len(r.Freed) != 32 {
		t.Errorf("32 names: pending %v, %d freed", r.Pending, len(r.Freed))
	}
	f.WantResolve("acme.slug", "x", 200, "")
	// Names that the list took away earlier are not given up again.
	f.Must(coretest.Claim("one", "x", coretest.User1), coretest.Claim("two", "x", coretest.User1))
	r = f.Must(
		coretest.Decommission("one", "x", coretest.User1), dibs.Transfer{Namespace: "two", Value: "x", From: coretest.User1, To: coretest.User2},
		dibs.Delete{Entity: coretest.User1},
	)[2]
	if len(r.Freed) != 0 {
		t.Errorf("Delete gave up %q, want nothing", r.Freed)
	}
	f.WantActive(coretest.User2, "x")
}

// A dry run returns the results and changes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	before := f.Dump()
	results, err := f.DryRun(f.Ctx, coretest.Rename("slug", "y", coretest.User1), coretest.Claim("slug", "z", coretest.User2), dibs.Delete{Entity: coretest.User1})
	if err != nil || results[0].Names[0].State != dibs.Active || results[0].Version != 2 || len(results[2].Freed) != 2 {
		t.Errorf("DryRun = %+v, %v", results, err)
	}
	_, err = f.DryRun(f.Ctx, coretest.Claim("slug", "x", coretest.User2))
	f.WantError(err, dibs.ErrNameTaken)
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		t.Error("a dry run changed something")
	}
}

// An event has the state before, the state after, and the principal that caused it.
func TestEventFields(t *testing.T) {
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
			t.Errorf("%s has the state before %+v, want %+v", e.Kind, e.Before, events[i-1].After)
		}
		wantActor, wantVersion := "ann", uint64(i)
		if e.Kind == dibs.EventUnlocked {
			wantActor, wantVersion = "", 0 // by time alone, without a change of the entity
		}
		if e.Actor != wantActor || e.Version != wantVersion || e.Entity != coretest.User1 || e.Scope != "acme" || e.CorrelationID != "c" {
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
	if s := events[0].Before; s.State != dibs.Free || s.Epoch != 0 {
		t.Errorf("the first event has the state before %+v", s)
	}
	if s := events[2].After; s.State != dibs.Quarantined || s.Until.Time() != f.Clock.Now().UTC() {
		t.Errorf("given up, the name is %+v", s)
	}
}

// Each command of a list may show which records the next one needs. A list may need any number of
// loads: neither the list nor the other requests in its batch fail because of them.
func TestApplyMayLoadManyTimes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	hold, err := f.Reserve(f.Ctx, dibs.Reserve{Namespace: "acme.slug", Value: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var confirms, chain []dibs.Command
	for i := range 20 {
		entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		f.Must(coretest.Claim("acme.slug", fmt.Sprint("own-", i), entity))
		confirms = append(confirms, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity})
		if i > 0 {
			chain = append(chain, dibs.Delete{Scope: "acme", Entity: entity}, coretest.Claim("acme.slug", "own-1", entity))
		}
		if len(chain) >= 30 {
			break
		}
	}
	f.Refused(dibs.ErrEntityHasName, confirms...)
	if _, err := f.Apply(f.Ctx, chain...); errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a long chain: %v", err)
	}
}
