package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

func TestIfVersion(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	renameIf := func(value string, version uint64) dibs.Rename {
		return dibs.Rename{Namespace: "slug", Value: value, Entity: coretest.User1, IfVersion: version}
	}
	f.Refused(dibs.ErrVersionMismatch, renameIf("a", 1)) // the entity has no version yet
	f.Must(coretest.Claim("slug", "a", coretest.User1))
	e := f.Refused(dibs.ErrVersionMismatch, renameIf("b", 2))
	if !strings.Contains(e.Message, "at version 1, not 2") {
		t.Errorf("%q does not name the versions", e.Message)
	}
	if r := f.Must(renameIf("b", 1))[0]; r.Version != 2 {
		t.Errorf("the version is %d", r.Version)
	}
	if r := f.Replayed(renameIf("b", 1)); r.Version != 2 {
		t.Errorf("the version is %d", r.Version)
	}
	// A stale version is refused before anything else.
	f.Must(dibs.Archive{Entity: coretest.User1})
	f.Refused(dibs.ErrVersionMismatch, renameIf("c", 2))
	f.Refused(dibs.ErrEntityArchived, renameIf("c", 3))
	stale := dibs.Rename{Namespace: "slug", Value: "c", Entity: coretest.User1, From: "x"}
	f.Refused(dibs.ErrEntityArchived, stale)
	f.Must(dibs.Restore{Entity: coretest.User1})
	f.Refused(dibs.ErrNotOwner, stale)
	f.Must(coretest.Claim("slug", "taken", coretest.User2))
	stale.Value = "taken"
	f.Refused(dibs.ErrNotOwner, stale) // before taken
	stale.From = "b"
	f.Refused(dibs.ErrNameTaken, stale)
}

// Every new hold and every new owner raises the epoch. Nothing else does.
func TestEpochs(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	step := func(want uint64, command dibs.Command) {
		t.Helper()
		f.Must(command)
		if n := f.NameOf("slug", "x"); n.Epoch != want {
			t.Fatalf("%#v: the epoch is %d, want %d", command, n.Epoch, want)
		}
	}
	id, team := dibs.NameID("slug", "x"), dibs.Entity{Type: "team", ID: "2"}
	step(1, coretest.Reserve("slug", "x", coretest.Token1))
	step(1, dibs.Extend{ID: id, Token: coretest.Token1, TTL: dibs.For(longHold)})
	step(1, dibs.Release{ID: id, Token: coretest.Token1})
	step(2, coretest.Reserve("slug", "x", coretest.Token2))
	step(2, dibs.Confirm{ID: id, Token: coretest.Token2, Entity: coretest.User1})
	step(2, coretest.Rename("slug", "y", coretest.User1))
	step(2, coretest.Rename("slug", "x", coretest.User1))
	step(3, dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User1, To: coretest.User2})
	step(3, coretest.Rename("slug", "z", coretest.User2))
	step(4, dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User2, To: coretest.User3})
	f.Must(coretest.Claim("slug", "w", coretest.User1))
	f.Clock.Advance(time.Minute)
	step(5, dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "x", Entity: coretest.User3}, B: dibs.Named{Value: "w", Entity: coretest.User1}})
	if n := f.NameOf("slug", "x"); !n.CreatedAt.Equal(f.Clock.Now()) || !n.ConfirmedAt.Equal(f.Clock.Now()) || n.Entity != coretest.User1 {
		t.Errorf("swapped to %+v", n)
	}
	step(5, dibs.Archive{Entity: coretest.User1})
	step(5, dibs.Delete{Entity: coretest.User1})
	step(6, coretest.Claim("slug", "x", team))
	f.WantActive(coretest.User2, "z")
	f.WantActive(coretest.User3, "w")
	f.WantActive(team, "x")
}

// A replaced name redirects in one hop, and its entity has one active name.
func TestReplace(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "other", coretest.User2))
	id := dibs.NameID("slug", "b")
	f.Must(coretest.Reserve("slug", "b", coretest.Token1))
	f.Refused(dibs.ErrNotOwner, dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1, Replaces: "other"})
	f.Refused(dibs.ErrNotOwner, dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1, Replaces: "b"})
	r := f.Must(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1, Replaces: "a"})[0]
	if r.Version != 2 || r.Names[0].State != dibs.Active {
		t.Errorf("replaced: %+v", r)
	}
	f.Must(coretest.Rename("slug", "c", coretest.User1))
	f.WantResolve("slug", "a", 301, "c")
	f.WantResolve("slug", "b", 301, "c")
	f.WantActive(coretest.User1, "c")
	f.WantKinds("slug", "b", dibs.EventReserved, dibs.EventConfirmed, dibs.EventDemoted)
	f.Replayed(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}) // an alias of the same entity is a replay

	f.Must(coretest.Decommission("slug", "c", coretest.User1))
	f.WantResolve("slug", "a", 410, "") // the entity has no active name any more
	f.WantActive(coretest.User1)
	f.Must(coretest.Rename("slug", "a", coretest.User1))
	f.WantResolve("slug", "b", 301, "a")
	f.Must(coretest.Decommission("slug", "b", coretest.User1)) // giving up an alias leaves the active name
	f.WantActive(coretest.User1, "a")
	f.WantResolve("slug", "a", 200, "")
	f.Refused(dibs.ErrNotFound, coretest.Decommission("slug", "b", coretest.User2))
	// The transfer of an alias leaves the active name of the giver.
	f.Must(coretest.Rename("slug", "d", coretest.User1), dibs.Transfer{Namespace: "slug", Value: "a", From: coretest.User1, To: coretest.User3})
	f.WantActive(coretest.User1, "d")
	f.WantActive(coretest.User3, "a")
}

func TestDecommissionResult(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, matrixPolicies())
	f.Must(coretest.Claim(plain, "x", coretest.User1), coretest.Claim(kept, "x", coretest.User1))
	r := f.Must(coretest.Decommission(plain, "x", coretest.User1))[0]
	if len(r.Freed) != 1 || r.Freed[0] != "plain:x" || r.Quarantined != nil || r.Version != 3 {
		t.Errorf("Decommission = %+v", r)
	}
	r = f.Must(coretest.Decommission(kept, "x", coretest.User1))[0]
	if len(r.Quarantined) != 1 || r.Quarantined[0] != "kept:x" || r.Freed != nil || r.Version != 4 {
		t.Errorf("Decommission = %+v", r)
	}
	if until := r.Names[0].Until; !until.Equal(f.Clock.Now().Add(anHour)) {
		t.Errorf("it is quarantined until %v", until)
	}
	if r := f.Replayed(coretest.Decommission(kept, "x", coretest.User1)); r.Version != 4 {
		t.Errorf("the version is %d", r.Version)
	}
}

// The event of a Rename has its correlation ID, whatever state the new name was in.
func TestRenameKeepsTheCorrelationID(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	last := func(value string) string {
		t.Helper()
		events, err := f.History(f.Ctx, "slug", value)
		if err != nil {
			t.Fatal(err)
		}
		return events[len(events)-1].CorrelationID
	}
	to := func(value, correlation string) dibs.Rename {
		return dibs.Rename{Namespace: "slug", Entity: coretest.User1, Value: value, Token: coretest.Token1, CorrelationID: correlation}
	}
	f.Must(coretest.Claim("slug", "a", coretest.User1), to("b", "c1")) // a free name
	f.Must(to("a", "c2"))                                              // its own alias
	f.Must(coretest.Reserve("slug", "c", coretest.Token1), to("c", "c3"))
	if got := []string{last("b"), last("a"), last("c")}; got[0] != "c1" || got[2] != "c3" {
		t.Errorf("%v", got)
	}
	f.Must(to("a", "c4"))
	if got := last("a"); got != "c4" {
		t.Errorf("revived with %q", got)
	}
}

// A group writes names that stop being active before the names that become active: engines with a
// unique index need that order.
func TestYieldsFirst(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t, nil)
	groups := s.LastGroups()
	yields := func() (values []string) {
		rest := false
		for _, w := range (*groups)[0].Writes {
			if w.Yields && rest {
				t.Error("a write that yields follows one that does not")
			}
			if rest = rest || !w.Yields; w.Yields {
				values = append(values, w.Record.(*dibs.NameRecord).Canonical)
			}
		}
		return values
	}
	want := func(command dibs.Command, values ...string) {
		t.Helper()
		f.Must(command)
		if got := yields(); fmt.Sprint(got) != fmt.Sprint(values) {
			t.Errorf("%#v: %v yield, want %v", command, got, values)
		}
	}
	want(coretest.Claim("slug", "a", coretest.User1))
	want(coretest.Claim("slug", "b", coretest.User2))
	want(coretest.Rename("slug", "c", coretest.User1), "a")
	want(coretest.Rename("slug", "a", coretest.User1), "c")
	want(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: coretest.User1}, B: dibs.Named{Value: "b", Entity: coretest.User2}}, "a", "b")
	want(dibs.Transfer{Namespace: "slug", Value: "a", From: coretest.User2, To: coretest.User3}, "a")
	want(dibs.Archive{Entity: coretest.User3})
	want(coretest.Decommission("slug", "a", coretest.User3), "a")
	want(dibs.Delete{Entity: coretest.User1}, "b")
}

// The policy of the moment at which a name becomes an alias decides about its quarantine.
func TestAliasHasTheTermsOfItsRename(t *testing.T) {
	t.Parallel()
	policies := func(quarantine time.Duration) map[string]dibs.Policy {
		return map[string]dibs.Policy{"slug": {Quarantine: quarantine, AliasRetention: time.Hour}}
	}
	f := coretest.NewFixture(t, policies(time.Hour))
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	f.Reopened(policies(3 * time.Hour)).Must(coretest.Rename("slug", "y", coretest.User1))
	until := f.Clock.Now().Add(4 * time.Hour)
	f.Clock.Advance(time.Hour)
	if n := f.NameOf("slug", "x"); n.State != dibs.Quarantined || !n.Until.Equal(until) {
		t.Errorf("it is %s until %s, want until %s", n.State, n.Until, until)
	}
}

// A command that also records the end of an alias raises the version of the entity once.
func TestRecordedEndRaisesTheVersionOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour}})
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Rename("slug", "y", coretest.User1))
	f.Clock.Advance(time.Hour)
	before := versionOf(f, coretest.User1)
	renamed := f.Must(coretest.Rename("slug", "x", coretest.User1))[0]
	if after := versionOf(f, coretest.User1); after != before+1 || renamed.Version != after {
		t.Errorf("the version went from %d to %d, and the result says %d", before, after, renamed.Version)
	}
}

// A name whose entity has lost its record is not answered: the entity may be archived, or deleted.
func TestOwnerIsLost(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "old", coretest.User1), coretest.Rename("slug", "new", coretest.User1), dibs.Archive{Entity: coretest.User1})
	f.Must(coretest.Claim("slug", "other", coretest.User2))
	loaded, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User1)}})
	if err != nil || len(loaded.Records) != 1 {
		t.Fatal(loaded, err)
	}
	lost := loaded.Records[0]
	outcomes, err := f.Engine.Commit(f.Ctx, []dibs.Group{{
		Reads: []dibs.Read{{Ref: lost.Ref(), Rev: lost.Revision()}}, Writes: []dibs.Write{{Record: lost, Delete: true}},
	}})
	if err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
	g := f.Reopened(nil) // which remembers nothing
	for _, value := range []string{"old", "new"} {
		n, err := g.Get(g.Ctx, dibs.Lookup{Namespace: "slug", Value: value, Version: true})
		if e, ok := errors.AsType[*dibs.Error](err); !ok || e.Cause != dibs.CauseDamaged {
			t.Errorf("%s is %+v, %v", value, n, err)
		}
		r, err := g.Resolve(g.Ctx, "slug", value)
		if e, ok := errors.AsType[*dibs.Error](err); !ok || e.Cause != dibs.CauseDamaged {
			t.Errorf("%s leads to %+v, %v", value, r, err)
		}
	}
	g.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "new", coretest.User1))
	if r, err := g.Resolve(g.Ctx, "slug", "other"); err != nil || r.Entity != coretest.User2 {
		t.Errorf("the other name leads to %+v, %v", r, err)
	}
}
