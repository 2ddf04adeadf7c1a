package model_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/dibstest"
	"github.com/calldibs/dibs/memstore"
)

// The tests below are minimal histories in which a registry once broke its rules.

// stage is a registry with one policy, and a clock that the test sets.
type stage struct {
	*dibs.Registry
	t   *testing.T
	now time.Time
}

func newStage(t *testing.T, policy dibs.Policy) *stage {
	s := &stage{t: t, now: time.UnixMilli(1_700_000_000_000)}
	store := memstore.New(memstore.Config{Now: func() time.Time { return s.now }})
	s.Registry = dibstest.Open(t, store, dibs.Config{Default: policy})
	return s
}

// do applies one command that must succeed.
func (s *stage) do(command dibs.Command) dibs.Result {
	s.t.Helper()
	results, err := s.Apply(context.Background(), command)
	if err != nil {
		s.t.Fatalf("%+v: %v", command, err)
	}
	return results[0]
}

// An entity that may have many names gives up the first name of a line that continues
// without it, and takes it again: both names are active.
func TestLineBeginsAnew(t *testing.T) {
	user := entities[0]
	s := newStage(t, dibs.Policy{ManyPerEntity: true})
	s.do(dibs.Claim{Namespace: "email", Value: "a", Entity: user})
	s.do(dibs.Rename{Namespace: "email", Entity: user, From: "a", Value: "b"})
	s.do(dibs.Decommission{Namespace: "email", Value: "a", Entity: user})
	s.do(dibs.Claim{Namespace: "email", Value: "a", Entity: user})
	s.do(dibs.Rename{Namespace: "email", Entity: user, From: "b", Value: "c"})
}

// A Rename to a held name in another spelling is replayed when it is repeated.
func TestRenameToHoldIsReplayed(t *testing.T) {
	user := entities[0]
	s := newStage(t, dibs.Policy{Profile: folding{}})
	s.do(dibs.Reserve{Namespace: "slug", Value: "a", Token: tokens[0]})
	rename := dibs.Rename{Namespace: "slug", Entity: user, Value: "A", Token: tokens[0]}
	if got := s.do(rename).Names[0].Value; got != "A" {
		t.Errorf("the spelling is %q, want %q", got, "A")
	}
	if !s.do(rename).Replayed {
		t.Error("the repeated Rename was not replayed")
	}
}

// A suspect blocks a name as a hold does, so it counts as a hold.
func TestSuspectsCountTowardsMaxHolds(t *testing.T) {
	s := newStage(t, dibs.Policy{MaxHolds: 1, Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		return dibs.Unknown, nil
	}})
	s.do(dibs.Reserve{Namespace: "slug", Value: "a", TTL: dibs.For(time.Second)})
	s.now = s.now.Add(time.Second)
	_, err := s.Apply(context.Background(), dibs.Reserve{Namespace: "slug", Value: "b"})
	if !errors.Is(err, dibs.ErrTooManyHolds) {
		t.Errorf("a second name beside a suspect: got %v, want TOO_MANY_HOLDS", err)
	}
}
