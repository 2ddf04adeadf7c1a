package rules_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// folding is a profile that folds case and breaks its contract for some values.
type folding struct{}

func (folding) Name() string { return "folding/1" }

func (folding) Canonical(value string) (string, error) {
	switch value {
	case "refused":
		return "", errors.New("this value is not liked")
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
		t.Errorf("reserved %+v", n)
	}
	f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "ALICE", coretest.Token2))
	f.Replayed(coretest.Reserve("slug", "aliCe", coretest.Token1))
	e := f.Refused(dibs.ErrInvalidValue, dibs.ReserveAll{Reservations: []dibs.Reserve{coretest.Reserve("slug", "Bob", ""), coretest.Reserve("slug", "bob", "")}})
	wantFailures(t, e, "1 INVALID_VALUE")
	f.Refused(dibs.ErrInvalidValue, dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: "Bob", Entity: coretest.User1}, B: dibs.Named{Value: "bOB", Entity: coretest.User2},
	})
}

// A Rename to another spelling of the same name keeps its row and its epoch.
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
	f.Replayed(dibs.Rename{Namespace: "slug", Value: "Alice", Entity: coretest.User1, IfVersion: 99}) // IfVersion does not matter for a replay
	f.Refused(dibs.ErrVersionMismatch, dibs.Rename{Namespace: "slug", Value: "ALICE", Entity: coretest.User1, IfVersion: 99})
	f.Must(dibs.Rename{Namespace: "slug", Value: "ALICE", Entity: coretest.User1, From: "alice", IfVersion: 2})
	f.Must(dibs.Archive{Entity: coretest.User1})
	f.Replayed(coretest.Rename("slug", "ALICE", coretest.User1))
	f.Refused(dibs.ErrEntityArchived, coretest.Rename("slug", "Alice", coretest.User1))
	f.Must(dibs.Restore{Entity: coretest.User1})
	f.WantKinds("slug", "alice", dibs.EventClaimed, dibs.EventRespelled, dibs.EventRespelled)

	// An alias that becomes active again has the spelling of the command.
	f.Must(coretest.Rename("slug", "bob", coretest.User1))
	if n := f.One(coretest.Rename("slug", "aLICE", coretest.User1)); n.Value != "aLICE" || n.Epoch != 1 {
		t.Errorf("revived as %+v", n)
	}
}

// panicky is a profile with a bug.
type panicky struct{}

func (panicky) Name() string { return "panicky/1" }

func (panicky) Canonical(value string) (string, error) {
	if value == "boom" {
		panic("a bug in the profile")
	}
	return value, nil
}

func TestProfilePanics(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: panicky{}, ManyPerEntity: true}})
	f.Refused(dibs.ErrInvalidValue, coretest.Reserve("slug", "boom", coretest.Token1))
	f.Must(coretest.Claim("slug", "a", coretest.User1), coretest.Reserve("slug", "b", coretest.Token1))
	f.Refused(dibs.ErrInvalidValue, dibs.Confirm{ID: dibs.NameID("slug", "b"), Token: coretest.Token1, Entity: coretest.User1, Replaces: "boom"})
}

type calledSo struct{ name string }

func (c calledSo) Name() string { return c.name }

func (calledSo) Canonical(value string) (string, error) { return value, nil }

// The name of a profile is checked: the namespace record stores it.
func TestProfileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "mine blind", "a b", strings.Repeat("x", 201)} {
		_, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Default: dibs.Policy{Profile: calledSo{name}}})
		if err == nil || !strings.Contains(err.Error(), "the name of the profile") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// explained are reserved words that say why they are reserved.
type explained struct{}

func (explained) Reserved(canonical string) bool { return canonical == "root" }

func (explained) Explain(string) string { return "belongs to the operator" }

func TestReservedWordIsExplained(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ReservedWords: explained{}}})
	if e := f.Refused(dibs.ErrReservedWord, coretest.Claim("slug", "root", coretest.User1)); e.Message != `"root" belongs to the operator` {
		t.Errorf("%q", e.Message)
	}
}
