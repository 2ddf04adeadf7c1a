package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// folding takes letters as the same in either case.
type folding struct{}

func (folding) Name() string { return "folding/1" }

func (folding) Canonical(value string) (string, error) {
	switch value {
	case "refused":
		return "", errors.New("this one is not liked")
	case "vanishes":
		return "", nil
	case "grows":
		return strings.Repeat("a", 1025), nil
	}
	return strings.ToLower(value), nil
}

func TestProfile(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: folding{}}})
	for value, says := range map[string]string{"refused": "not liked", "vanishes": "is empty", "grows": "1025 bytes"} {
		if e := f.Refused(dibs.ErrInvalidValue, coretest.Claim("slug", value, coretest.User1)); !strings.Contains(e.Message, says) {
			t.Errorf("%q does not say %q", e.Message, says)
		}
	}
	n := f.One(coretest.Reserve("slug", "Alice", coretest.Token1))
	if n.Value != "Alice" || n.Canonical != "alice" || n.Key() != "slug:alice" || n.ID != dibs.NameID("slug", "alice") {
		t.Errorf("it is %+v", n)
	}
	f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "ALICE", coretest.Token2))
	f.Replayed(coretest.Reserve("slug", "aliCe", coretest.Token1))
	e := f.Refused(dibs.ErrInvalidValue, dibs.ReserveAll{Reservations: []dibs.Reserve{coretest.Reserve("slug", "Bob", ""), coretest.Reserve("slug", "bob", "")}})
	wantFailures(t, e, "1 INVALID_VALUE")
	f.Refused(dibs.ErrInvalidValue, dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "Bob", Entity: coretest.User1}, B: dibs.Named{Value: "bOB", Entity: coretest.User2},
	})
}

// The same name written differently is respelled: same row, same epoch.
func TestRespell(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: folding{}}})
	f.Must(coretest.Claim("slug", "alice", coretest.User1))
	f.Replayed(coretest.Claim("slug", "ALICE", coretest.User1))
	r := f.Must(coretest.Rename("slug", "Alice", coretest.User1))[0]
	if n := r.Names[0]; n.Value != "Alice" || n.Epoch != 1 || n.State != dibs.Active || r.Version != 2 {
		t.Errorf("respelled to %+v at version %d", n, r.Version)
	}
	f.Replayed(coretest.Rename("slug", "Alice", coretest.User1))
	f.Replayed(dibs.Rename{Namespace: "slug", Value: "Alice", Entity: coretest.User1, IfVersion: 99}) // whatever IfVersion says
	f.Refused(dibs.ErrVersionMismatch, dibs.Rename{Namespace: "slug", Value: "ALICE", Entity: coretest.User1, IfVersion: 99})
	f.Must(dibs.Rename{Namespace: "slug", Value: "ALICE", Entity: coretest.User1, From: "alice", IfVersion: 2})
	f.Must(dibs.Archive{Entity: coretest.User1})
	f.Replayed(coretest.Rename("slug", "ALICE", coretest.User1))
	f.Refused(dibs.ErrEntityArchived, coretest.Rename("slug", "Alice", coretest.User1))
	f.Must(dibs.Restore{Entity: coretest.User1})
	coretest.WantKinds(t, f, "slug", "alice", dibs.EventClaimed, dibs.EventRespelled, dibs.EventRespelled)

	// An alias that comes back is written as it is asked for.
	f.Must(coretest.Rename("slug", "bob", coretest.User1))
	if n := f.One(coretest.Rename("slug", "aLICE", coretest.User1)); n.Value != "aLICE" || n.Epoch != 1 {
		t.Errorf("revived as %+v", n)
	}
}

func TestIfVersion(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	renameIf := func(value string, version uint64) dibs.Rename {
		return dibs.Rename{Namespace: "slug", Value: value, Entity: coretest.User1, IfVersion: version}
	}
	f.Refused(dibs.ErrVersionMismatch, renameIf("a", 1)) // it has no version yet
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
	// A stale version comes before everything else that is wrong.
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

// Each new hold or owner has a new epoch; nothing else does.
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

// What was replaced leads on, in one hop, and its entity has one active name.
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
	f.WantLeads("slug", "a", 301, "c")
	f.WantLeads("slug", "b", 301, "c")
	f.WantActive(coretest.User1, "c")
	coretest.WantKinds(t, f, "slug", "b", dibs.EventReserved, dibs.EventConfirmed, dibs.EventDemoted)
	f.Replayed(dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}) // an alias of the same entity counts as the same

	f.Must(coretest.Decommission("slug", "c", coretest.User1))
	f.WantLeads("slug", "a", 410, "") // there is none any more
	f.WantActive(coretest.User1)
	f.Must(coretest.Rename("slug", "a", coretest.User1))
	f.WantLeads("slug", "b", 301, "a")
	f.Must(coretest.Decommission("slug", "b", coretest.User1)) // an alias: the active name stays
	f.WantActive(coretest.User1, "a")
	f.WantLeads("slug", "a", 200, "")
	f.Refused(dibs.ErrNotFound, coretest.Decommission("slug", "b", coretest.User2))
	// An alias goes to another without a trace on the one who gave it.
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
		t.Errorf("it gave up %+v", r)
	}
	r = f.Must(coretest.Decommission(kept, "x", coretest.User1))[0]
	if len(r.Quarantined) != 1 || r.Quarantined[0] != "kept:x" || r.Freed != nil || r.Version != 4 {
		t.Errorf("it gave up %+v", r)
	}
	if until := r.Names[0].Until; !until.Equal(f.Clock.Now().Add(anHour)) {
		t.Errorf("it is kept back until %v", until)
	}
	if r := f.Replayed(coretest.Decommission(kept, "x", coretest.User1)); r.Version != 4 {
		t.Errorf("the version is %d", r.Version)
	}
}
