package core_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/calldibs/dibs"
)

// Each command of a list sees what those before it did.
func TestApplySees(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := dibs.NameID("slug", "x")
	f.must(claim("slug", "x", user1), dibs.Delete{Entity: user1})
	f.wantState("slug", "x", dibs.Free)
	f.must(claim("slug", "x", user1), decommission("slug", "x", user1), claim("slug", "x", user2))
	f.wantLeads("slug", "x", 200, "")
	f.wantActive(user2, "x")
	f.must(dibs.Delete{Entity: user2}, claim("slug", "x", user3))
	f.wantActive(user3, "x")
	f.must(
		decommission("slug", "x", user3), reserve("slug", "x", token1),
		dibs.Confirm{ID: id, Token: token1, Entity: user1}, rename("slug", "y", user1),
	)
	f.wantLeads("slug", "x", 301, "y")
	// Each is a change of its own, to the version and in the feed.
	before := f.version(user1)
	f.must(rename("slug", "x", user1), rename("slug", "y", user1), rename("slug", "z", user1))
	if v := f.version(user1); v != before+3 {
		t.Errorf("three renames took the version from %d to %d", before, v)
	}
	revs := make(map[dibs.ID]uint64)
	for _, e := range f.events() {
		if e.ID.IsZero() {
			continue
		}
		if e.Rev != revs[e.ID]+1 {
			t.Errorf("%s of %s has revision %d after %d", e.Kind, e.Key(), e.Rev, revs[e.ID])
		}
		revs[e.ID] = e.Rev
	}
	results, err := f.Apply(f.ctx, claim("slug", "new", user2), claim("slug", "new", user2))
	if err != nil || results[0].Replayed || !results[1].Replayed {
		t.Errorf("the same claim twice: %+v, %v", results, err)
	}
}

// One refused command undoes the whole list.
func TestApplyAllOrNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	e := f.refused(dibs.ErrNameTaken, claim("slug", "x", user1), claim("slug", "x", user2))
	wantFailures(t, e, "1 NAME_TAKEN")
	f.wantState("slug", "x", dibs.Free)
	e = f.refused(dibs.ErrEntityNotFound, dibs.Archive{Entity: user1}, claim("slug", "x", user1), dibs.Archive{Entity: user1})
	wantFailures(t, e, "0 ENTITY_NOT_FOUND")
	f.must(reserve("slug", "y", token1))
	e = f.refused(dibs.ErrNameTaken,
		dibs.Release{ID: dibs.NameID("slug", "y"), Token: token1}, claim("slug", "y", user1),
		claim("slug", "y", user2), claim("slug", "z", user3))
	wantFailures(t, e, "2 NAME_TAKEN")
	f.wantState("slug", "y", dibs.Held)
	// A list of names within a list of commands.
	list, _ := numbered(2)
	e = f.refused(dibs.ErrNameTaken, claim("slug", "v1", user1), dibs.ReserveAll{Reservations: list})
	if len(e.Failures) != 1 || len(e.Failures[0].Err.Failures) != 1 || e.Failures[0].Err.Failures[0].Index != 1 {
		t.Errorf("the failures are %+v", e.Failures)
	}
}

// A deletion sees the names that its own list gave the entity.
func TestApplyDeleteCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	withNames(f, 31, user1)
	r := f.must(claim("one", "x", user1), dibs.Delete{Entity: user1})[1]
	if r.Pending || len(r.Freed) != 32 {
		t.Errorf("32 names: pending %v, %d freed", r.Pending, len(r.Freed))
	}
	withNames(f, 32, user1)
	r = f.must(claim("one", "x", user1), dibs.Delete{Entity: user1})[1]
	if !r.Pending {
		t.Error("33 names are given up at once")
	}
	f.sweep()
	f.sweep()
	for i := range 32 {
		f.wantState(fmt.Sprintf("ns%02d", i), "x", dibs.Free)
	}
	f.wantState("one", "x", dibs.Free)
	// A name that the list only changed counts once, and another scope's not at all.
	withNames(f, 31, user1)
	r = f.must(claim("acme.slug", "x", user1), rename("ns00", "y", user1), dibs.Delete{Entity: user1})[2]
	if r.Pending || len(r.Freed) != 32 {
		t.Errorf("32 names: pending %v, %d freed", r.Pending, len(r.Freed))
	}
	f.wantLeads("acme.slug", "x", 200, "")
	// Names that the list took away before are not given up again.
	f.must(claim("one", "x", user1), claim("two", "x", user1))
	r = f.must(
		decommission("one", "x", user1), dibs.Transfer{Namespace: "two", Value: "x", From: user1, To: user2},
		dibs.Delete{Entity: user1},
	)[2]
	if len(r.Freed) != 0 {
		t.Errorf("it gave up %q", r.Freed)
	}
	f.wantActive(user2, "x")
}

// A dry run says what would happen, and nothing happens.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.must(claim("slug", "x", user1))
	before := f.dump()
	results, err := f.DryRun(f.ctx, rename("slug", "y", user1), claim("slug", "z", user2), dibs.Delete{Entity: user1})
	if err != nil || results[0].Names[0].State != dibs.Active || results[0].Version != 2 || len(results[2].Freed) != 2 {
		t.Errorf("it says %+v, %v", results, err)
	}
	_, err = f.DryRun(f.ctx, claim("slug", "x", user2))
	f.checkError(err, dibs.ErrNameTaken)
	if after := f.dump(); !reflect.DeepEqual(before, after) {
		t.Error("a dry run changed something")
	}
}

// An event says what was, what is, and who did it.
func TestEventsCarry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, matrixPolicies())
	ann := f.as("ann", 0)
	ann.must(dibs.Reserve{Namespace: "acme.kept", Value: "x", Token: token1, Entity: user1, CorrelationID: "c"})
	ann.must(dibs.Confirm{ID: dibs.NameID("acme.kept", "x"), Token: token1, Entity: user1})
	ann.must(decommission("acme.kept", "x", user1))
	f.clock.advance(anHour)
	f.sweep()
	events := f.events()
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
		if e.Actor != wantActor || e.Version != wantVersion || e.Entity != user1 || e.Scope != "acme" || e.CorrelationID != "c" {
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
	if s := events[0].Before; s.State != dibs.Free || s.Epoch != 0 {
		t.Errorf("the first event begins with %+v", s)
	}
	if s := events[2].After; s.State != dibs.Quarantined || s.Until.Time() != f.clock.Now().UTC() {
		t.Errorf("it was given up to %+v", s)
	}
}
