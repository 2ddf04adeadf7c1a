package core_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
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
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: folding{}}})
	for value, says := range map[string]string{"refused": "not liked", "vanishes": "is empty", "grows": "1025 bytes"} {
		if e := f.refused(dibs.ErrInvalidValue, claim("slug", value, user1)); !strings.Contains(e.Message, says) {
			t.Errorf("%q does not say %q", e.Message, says)
		}
	}
	n := f.one(reserve("slug", "Alice", token1))
	if n.Value != "Alice" || n.Canonical != "alice" || n.Key() != "slug:alice" || n.ID != dibs.NameID("slug", "alice") {
		t.Errorf("it is %+v", n)
	}
	f.refused(dibs.ErrNameTaken, reserve("slug", "ALICE", token2))
	f.replayed(reserve("slug", "aliCe", token1))
	e := f.refused(dibs.ErrInvalidValue, dibs.ReserveAll{Reservations: []dibs.Reserve{reserve("slug", "Bob", ""), reserve("slug", "bob", "")}})
	wantFailures(t, e, "1 INVALID_VALUE")
	f.refused(dibs.ErrInvalidValue, dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "Bob", Entity: user1}, B: dibs.Named{Value: "bOB", Entity: user2},
	})
}

// The same name written differently is respelled: same row, same epoch.
func TestRespell(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: folding{}}})
	f.must(claim("slug", "alice", user1))
	f.replayed(claim("slug", "ALICE", user1))
	r := f.must(rename("slug", "Alice", user1))[0]
	if n := r.Names[0]; n.Value != "Alice" || n.Epoch != 1 || n.State != dibs.Active || r.Version != 2 {
		t.Errorf("respelled to %+v at version %d", n, r.Version)
	}
	f.replayed(rename("slug", "Alice", user1))
	f.replayed(dibs.Rename{Namespace: "slug", Value: "Alice", Entity: user1, IfVersion: 99}) // whatever IfVersion says
	f.refused(dibs.ErrVersionMismatch, dibs.Rename{Namespace: "slug", Value: "ALICE", Entity: user1, IfVersion: 99})
	f.must(dibs.Rename{Namespace: "slug", Value: "ALICE", Entity: user1, From: "alice", IfVersion: 2})
	f.must(dibs.Archive{Entity: user1})
	f.replayed(rename("slug", "ALICE", user1))
	f.refused(dibs.ErrEntityArchived, rename("slug", "Alice", user1))
	f.must(dibs.Restore{Entity: user1})
	wantKinds(t, f, "slug", "alice", dibs.EventClaimed, dibs.EventRespelled, dibs.EventRespelled)

	// An alias that comes back is written as it is asked for.
	f.must(rename("slug", "bob", user1))
	if n := f.one(rename("slug", "aLICE", user1)); n.Value != "aLICE" || n.Epoch != 1 {
		t.Errorf("revived as %+v", n)
	}
}

func TestIfVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	renameIf := func(value string, version uint64) dibs.Rename {
		return dibs.Rename{Namespace: "slug", Value: value, Entity: user1, IfVersion: version}
	}
	f.refused(dibs.ErrVersionMismatch, renameIf("a", 1)) // it has no version yet
	f.must(claim("slug", "a", user1))
	e := f.refused(dibs.ErrVersionMismatch, renameIf("b", 2))
	if !strings.Contains(e.Message, "at version 1, not 2") {
		t.Errorf("%q does not name the versions", e.Message)
	}
	if r := f.must(renameIf("b", 1))[0]; r.Version != 2 {
		t.Errorf("the version is %d", r.Version)
	}
	if r := f.replayed(renameIf("b", 1)); r.Version != 2 {
		t.Errorf("the version is %d", r.Version)
	}
	// A stale version comes before everything else that is wrong.
	f.must(dibs.Archive{Entity: user1})
	f.refused(dibs.ErrVersionMismatch, renameIf("c", 2))
	f.refused(dibs.ErrEntityArchived, renameIf("c", 3))
	stale := dibs.Rename{Namespace: "slug", Value: "c", Entity: user1, From: "x"}
	f.refused(dibs.ErrEntityArchived, stale)
	f.must(dibs.Restore{Entity: user1})
	f.refused(dibs.ErrNotOwner, stale)
	f.must(claim("slug", "taken", user2))
	stale.Value = "taken"
	f.refused(dibs.ErrNotOwner, stale) // before taken
	stale.From = "b"
	f.refused(dibs.ErrNameTaken, stale)
}

// Each new hold or owner has a new epoch; nothing else does.
func TestEpochs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	step := func(want uint64, command dibs.Command) {
		t.Helper()
		f.must(command)
		if n := f.name("slug", "x"); n.Epoch != want {
			t.Fatalf("%#v: the epoch is %d, want %d", command, n.Epoch, want)
		}
	}
	id, team := dibs.NameID("slug", "x"), dibs.Entity{Type: "team", ID: "2"}
	step(1, reserve("slug", "x", token1))
	step(1, dibs.Extend{ID: id, Token: token1, TTL: dibs.For(longHold)})
	step(1, dibs.Release{ID: id, Token: token1})
	step(2, reserve("slug", "x", token2))
	step(2, dibs.Confirm{ID: id, Token: token2, Entity: user1})
	step(2, rename("slug", "y", user1))
	step(2, rename("slug", "x", user1))
	step(3, dibs.Transfer{Namespace: "slug", Value: "x", From: user1, To: user2})
	step(3, rename("slug", "z", user2))
	step(4, dibs.Transfer{Namespace: "slug", Value: "x", From: user2, To: user3})
	f.must(claim("slug", "w", user1))
	f.clock.advance(time.Minute)
	step(5, dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "x", Entity: user3}, B: dibs.Named{Value: "w", Entity: user1}})
	if n := f.name("slug", "x"); !n.CreatedAt.Equal(f.clock.Now()) || !n.ConfirmedAt.Equal(f.clock.Now()) || n.Entity != user1 {
		t.Errorf("swapped to %+v", n)
	}
	step(5, dibs.Archive{Entity: user1})
	step(5, dibs.Delete{Entity: user1})
	step(6, claim("slug", "x", team))
	f.wantActive(user2, "z")
	f.wantActive(user3, "w")
	f.wantActive(team, "x")
}

// What was replaced leads on, in one hop, and its entity has one active name.
func TestReplace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.must(claim("slug", "a", user1), claim("slug", "other", user2))
	id := dibs.NameID("slug", "b")
	f.must(reserve("slug", "b", token1))
	f.refused(dibs.ErrNotOwner, dibs.Confirm{ID: id, Token: token1, Entity: user1, Replaces: "other"})
	f.refused(dibs.ErrNotOwner, dibs.Confirm{ID: id, Token: token1, Entity: user1, Replaces: "b"})
	r := f.must(dibs.Confirm{ID: id, Token: token1, Entity: user1, Replaces: "a"})[0]
	if r.Version != 2 || r.Names[0].State != dibs.Active {
		t.Errorf("replaced: %+v", r)
	}
	f.must(rename("slug", "c", user1))
	f.wantLeads("slug", "a", 301, "c")
	f.wantLeads("slug", "b", 301, "c")
	f.wantActive(user1, "c")
	wantKinds(t, f, "slug", "b", dibs.EventReserved, dibs.EventConfirmed, dibs.EventDemoted)
	f.replayed(dibs.Confirm{ID: id, Token: token1, Entity: user1}) // an alias of the same entity counts as the same

	f.must(decommission("slug", "c", user1))
	f.wantLeads("slug", "a", 410, "") // there is none any more
	f.wantActive(user1)
	f.must(rename("slug", "a", user1))
	f.wantLeads("slug", "b", 301, "a")
	f.must(decommission("slug", "b", user1)) // an alias: the active name stays
	f.wantActive(user1, "a")
	f.wantLeads("slug", "a", 200, "")
	f.refused(dibs.ErrNotFound, decommission("slug", "b", user2))
	// An alias goes to another without a trace on the one who gave it.
	f.must(rename("slug", "d", user1), dibs.Transfer{Namespace: "slug", Value: "a", From: user1, To: user3})
	f.wantActive(user1, "d")
	f.wantActive(user3, "a")
}

func TestDecommissionResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t, matrixPolicies())
	f.must(claim(plain, "x", user1), claim(kept, "x", user1))
	r := f.must(decommission(plain, "x", user1))[0]
	if len(r.Freed) != 1 || r.Freed[0] != "plain:x" || r.Quarantined != nil || r.Version != 3 {
		t.Errorf("it gave up %+v", r)
	}
	r = f.must(decommission(kept, "x", user1))[0]
	if len(r.Quarantined) != 1 || r.Quarantined[0] != "kept:x" || r.Freed != nil || r.Version != 4 {
		t.Errorf("it gave up %+v", r)
	}
	if until := r.Names[0].Until; !until.Equal(f.clock.Now().Add(anHour)) {
		t.Errorf("it is kept back until %v", until)
	}
	if r := f.replayed(decommission(kept, "x", user1)); r.Version != 4 {
		t.Errorf("the version is %d", r.Version)
	}
}
