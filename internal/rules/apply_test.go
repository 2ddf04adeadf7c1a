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
	// It also returns the events of each command. A command that is done has them in the feed.
	var kinds [][]dibs.EventKind
	for _, r := range results {
		var own []dibs.EventKind
		for _, e := range r.Events {
			own = append(own, e.Kind)
		}
		kinds = append(kinds, own)
	}
	if want := [][]dibs.EventKind{{dibs.EventDemoted, dibs.EventClaimed}, {dibs.EventClaimed}, {dibs.EventGivenUp, dibs.EventGivenUp, dibs.EventDeleted}}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("the events would be %v, want %v", kinds, want)
	}
	results, err = f.DryRun(f.Ctx, coretest.Claim("slug", "z", coretest.User2))
	if err != nil || len(results[0].Events) != 1 {
		t.Errorf("one command: %+v, %v", results, err)
	}
	_, err = f.DryRun(f.Ctx, coretest.Claim("slug", "x", coretest.User2))
	f.WantError(err, dibs.ErrNameTaken)
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		t.Error("a dry run changed something")
	}
	if done := f.Must(coretest.Claim("other", "x", coretest.User1))[0]; len(done.Events) != 0 {
		t.Errorf("a command that is done returns %v", done.Events)
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

// manyFixture returns a fixture that lets an entity have several emails.
func manyFixture(t *testing.T) *coretest.Fixture {
	return coretest.NewFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
}

// follow renames one of an entity's names.
func follow(from, to string, entity dibs.Entity) dibs.Rename {
	return dibs.Rename{Namespace: "email", From: from, Value: to, Entity: entity}
}

func TestManyNames(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a", coretest.User1))
	f.Must(coretest.Claim("email", "b", coretest.User1))
	f.Replayed(coretest.Claim("email", "a", coretest.User1))
	// A Rename must name the one that it replaces, even if there is only one.
	f.Refused(dibs.ErrEntityHasName, coretest.Rename("email", "c", coretest.User1))
	f.Must(coretest.Decommission("email", "b", coretest.User1))
	f.Refused(dibs.ErrEntityHasName, coretest.Rename("email", "c", coretest.User1))
	f.Must(coretest.Rename("email", "c", coretest.User2)) // an entity without a name claims it
	f.Refused(dibs.ErrNotOwner, follow("c", "d", coretest.User1))
	f.Refused(dibs.ErrNotOwner, follow("absent", "d", coretest.User1))
	f.Must(follow("a", "d", coretest.User1))
	f.Replayed(follow("a", "d", coretest.User1))
	f.Replayed(follow("d", "d", coretest.User1))
	f.Replayed(coretest.Rename("email", "d", coretest.User1))
	f.Refused(dibs.ErrNotOwner, follow("a", "e", coretest.User1)) // an alias is not an active name
	// One active name cannot take another's place.
	f.Must(coretest.Claim("email", "g", coretest.User1))
	f.Refused(dibs.ErrNameTaken, follow("d", "g", coretest.User1))
}

// An alias redirects to the end of its chain of renames in one hop, and two chains do not mix.
func TestManyChains(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a1", coretest.User1))
	f.Must(coretest.Claim("email", "b1", coretest.User1))
	for i := range 3 {
		f.Must(follow(fmt.Sprint("a", i+1), fmt.Sprint("a", i+2), coretest.User1))
		f.Must(follow(fmt.Sprint("b", i+1), fmt.Sprint("b", i+2), coretest.User1))
	}
	wantResolve := func(a, b string) {
		t.Helper()
		for _, v := range []string{"a1", "a2", "a3"} {
			f.WantResolve("email", v, 301, a)
		}
		for _, v := range []string{"b1", "b2", "b3"} {
			f.WantResolve("email", v, 301, b)
		}
	}
	wantResolve("a4", "b4")
	f.WantResolve("email", "a4", 200, "")
	// Back to the first one: the same row, the same epoch.
	if n := f.One(follow("a4", "a1", coretest.User1)); n.Epoch != 1 {
		t.Errorf("an alias is active again with epoch %d, want 1", n.Epoch)
	}
	f.WantResolve("email", "a4", 301, "a1")
	f.Must(follow("a1", "a4", coretest.User1))
	wantResolve("a4", "b4")
	// An alias of one chain can become the end of the other.
	f.Must(follow("b4", "a2", coretest.User1))
	f.WantResolve("email", "b1", 301, "a2")
	f.WantResolve("email", "a1", 301, "a4")
	// Giving up the end of a chain leaves its aliases without a target.
	f.Must(coretest.Decommission("email", "a4", coretest.User1))
	f.WantResolve("email", "a1", 410, "")
	f.WantResolve("email", "b1", 301, "a2")
}

func TestManyConfirm(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a", coretest.User1), coretest.Claim("email", "b", coretest.User1), coretest.Reserve("email", "c", coretest.Token1))
	confirm := dibs.Confirm{ID: dibs.NameID("email", "c"), Token: coretest.Token1, Entity: coretest.User1, Replace: true}
	f.Refused(dibs.ErrEntityHasName, confirm)
	confirm.Replace, confirm.Replaces = false, "d"
	f.Refused(dibs.ErrNotOwner, confirm)
	confirm.Replaces = "b"
	f.Must(confirm)
	f.Replayed(confirm)
	f.WantResolve("email", "b", 301, "c")
	f.WantResolve("email", "a", 200, "")
	f.Must(coretest.Reserve("email", "d", coretest.Token1))
	f.Must(dibs.Confirm{ID: dibs.NameID("email", "d"), Token: coretest.Token1, Entity: coretest.User1}) // one more
	f.WantResolve("email", "a", 200, "")
}

// After a Swap an alias redirects to its own entity's name.
func TestManySwap(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a1", coretest.User1), follow("a1", "a2", coretest.User1), coretest.Claim("email", "z", coretest.User1))
	f.Must(coretest.Claim("email", "b1", coretest.User2), follow("b1", "b2", coretest.User2))
	swap := dibs.Swap{Namespace: "email", A: dibs.Named{Value: "a2", Entity: coretest.User1}, B: dibs.Named{Value: "b2", Entity: coretest.User2}}
	r := f.Must(swap)[0]
	if r.Names[0].Entity != coretest.User2 || r.Names[1].Entity != coretest.User1 || r.Names[0].Epoch != 2 || r.Names[1].Epoch != 2 {
		t.Errorf("swapped to %+v", r.Names)
	}
	f.Replayed(swap)
	f.WantResolve("email", "a1", 301, "b2")
	f.WantResolve("email", "b1", 301, "a2")
	f.WantResolve("email", "z", 200, "")
	// Each name can be renamed by its new entity.
	f.Must(follow("b2", "a3", coretest.User1))
	f.WantResolve("email", "a1", 301, "a3")
}

func TestManyTransfer(t *testing.T) {
	t.Parallel()
	f := manyFixture(t)
	f.Must(coretest.Claim("email", "a1", coretest.User1), follow("a1", "a2", coretest.User1), coretest.Claim("email", "z", coretest.User1), coretest.Claim("email", "b", coretest.User2))
	give := func(value string, from, to dibs.Entity) dibs.Transfer {
		return dibs.Transfer{Namespace: "email", Value: value, From: from, To: to}
	}
	n := f.One(give("a2", coretest.User1, coretest.User2)) // the receiver has another, and may have many
	if n.Entity != coretest.User2 || n.Epoch != 2 || n.State != dibs.Active {
		t.Errorf("transferred to %+v", n)
	}
	f.WantResolve("email", "a1", 410, "") // its target belongs to another entity now
	f.WantResolve("email", "a2", 200, "")
	f.WantResolve("email", "b", 200, "")
	f.Must(follow("a2", "a3", coretest.User2))
	f.WantResolve("email", "a2", 301, "a3")
	f.WantResolve("email", "b", 200, "")
	// A transferred alias is an active name, and leaves its chain alone.
	f.Must(give("a2", coretest.User2, coretest.User3))
	f.WantResolve("email", "a2", 200, "")
	f.WantResolve("email", "a3", 200, "")
	f.Must(coretest.Decommission("email", "z", coretest.User1))
	f.Must(coretest.Claim("email", "z2", coretest.User1))
	// An entity can receive names of several entities.
	f.Must(give("z2", coretest.User1, coretest.User3), give("b", coretest.User2, coretest.User3))
	f.WantActive(coretest.User1)
	f.WantActive(coretest.User2, "a3")
	f.WantActive(coretest.User3, "a2", "b", "z2")
}

// A policy may change back to one name per entity. While an entity has several names, no command
// replaces one of them: the entity's record could not list the others.
func TestManyPerEntityTurnedOff(t *testing.T) {
	t.Parallel()
	many := map[string]dibs.Policy{"email": {ManyPerEntity: true}}
	for name, command := range map[string]dibs.Command{
		"rename": follow("b", "b2", coretest.User1),
		"swap":   dibs.Swap{Namespace: "email", A: dibs.Named{Value: "b", Entity: coretest.User1}, B: dibs.Named{Value: "c", Entity: coretest.User2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, many)
			f.Must(coretest.Claim("email", "a", coretest.User1))
			f.Must(coretest.Claim("email", "b", coretest.User1))
			f.Must(coretest.Claim("email", "c", coretest.User2))
			one := f.Reopened(map[string]dibs.Policy{"email": {}})
			one.Refused(dibs.ErrEntityHasName, command)
			one.Must(coretest.Decommission("email", "a", coretest.User1))
			one.Must(command)
		})
	}
}
