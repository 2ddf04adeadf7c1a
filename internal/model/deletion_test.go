package model_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// The model deletes an entity in one step. If it has more names than one command may
// change, a registry deletes the rest by sweeping. This tests the time in between.
func TestDeletionOfManyNames(t *testing.T) {
	const names = 70
	user, other := entities[0], entities[1]
	s := newStage(t, dibs.Policy{ManyPerEntity: true, Quarantine: time.Minute})
	for i := range names {
		s.do(dibs.Claim{Namespace: "email", Value: fmt.Sprint(i), Entity: user})
	}
	s.do(dibs.Claim{Namespace: "email", Value: "other", Entity: other})
	hold := s.do(dibs.Reserve{Namespace: "email", Value: "held", Token: tokens[0]}).Names[0]
	deleted := s.do(dibs.Delete{Entity: user})
	if deleted.Replayed || !deleted.Pending {
		t.Errorf("the deletion returned %+v, want it pending", deleted)
	}
	if again := s.do(dibs.Delete{Entity: user}); !again.Replayed || !again.Pending {
		t.Errorf("the repeated deletion returned %+v, want a pending replay", again)
	}

	ctx := context.Background()
	for i := range names {
		r, err := s.Resolve(ctx, "email", fmt.Sprint(i))
		if err != nil || r.Outcome != dibs.ResolveGone {
			t.Fatalf("name %d of a deleted entity resolves to %+v, %v, want it gone", i, r, err)
		}
	}
	for _, refused := range []struct {
		command dibs.Command
		want    error
	}{
		{dibs.Claim{Namespace: "email", Value: "new", Entity: user}, dibs.ErrEntityArchived},
		{dibs.Rename{Namespace: "email", Value: "new", From: "1", Entity: user}, dibs.ErrEntityArchived},
		{dibs.Confirm{ID: hold.ID, Token: tokens[0], Entity: user}, dibs.ErrEntityArchived},
		{dibs.Transfer{Namespace: "email", Value: "other", From: other, To: user}, dibs.ErrEntityArchived},
		{dibs.Transfer{Namespace: "email", Value: "1", From: user, To: other}, dibs.ErrEntityNotFound},
		{dibs.Swap{Namespace: "email", A: dibs.Named{Value: "1", Entity: user}, B: dibs.Named{Value: "other", Entity: other}}, dibs.ErrEntityNotFound},
		{dibs.Decommission{Namespace: "email", Value: "1", Entity: user}, dibs.ErrEntityNotFound},
		{dibs.Archive{Entity: user}, dibs.ErrEntityNotFound},
		{dibs.Restore{Entity: user}, dibs.ErrEntityNotFound},
		{dibs.Claim{Namespace: "email", Value: "1", Entity: other}, dibs.ErrNameTaken},
	} {
		if _, err := s.Apply(ctx, refused.command); !errors.Is(err, refused.want) {
			t.Errorf("%T%+v while names are left: got %v, want %v", refused.command, refused.command, err, refused.want)
		}
	}

	for range names {
		if _, err := s.Sweep(ctx, 100); err != nil {
			t.Fatal(err)
		}
	}
	for i := range names {
		n, err := s.Get(ctx, dibs.Lookup{Namespace: "email", Value: fmt.Sprint(i)})
		if err != nil || n.State != dibs.Quarantined || n.Entity != user {
			t.Fatalf("name %d of a deleted entity is %+v, %v, want it in quarantine", i, n, err)
		}
	}
	claimed := s.do(dibs.Claim{Namespace: "email", Value: "1", Entity: user})
	if claimed.Version <= deleted.Version {
		t.Errorf("the version is %d after a new claim, it was %d when the entity was deleted", claimed.Version, deleted.Version)
	}
}
