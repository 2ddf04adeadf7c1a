package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// invalid is a group that violates a constraint: a hold without a token.
func invalid(canonical string) dibs.Group {
	n := heldName(canonical)
	n.Token = dibs.TokenHash{}
	return group(inserting(n), event(dibs.EventReserved, n))
}

// A group that the server refuses does not fail the others.
func TestInvalidGroup(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	var groups []dibs.Group
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		groups = append(groups, reserving(name))
	}
	groups[2] = invalid("c")
	outcomes, err := r.store.Commit(t.Context(), groups)
	r.compare(groups, outcomes, err)
	for i, outcome := range outcomes {
		want := dibs.Committed
		if i == 2 {
			want = dibs.Busy
		}
		if outcome != want {
			t.Errorf("group %d is %v, want %v", i, outcome, want)
		}
	}
	for _, alone := range [][]dibs.Group{{invalid("c")}, {invalid("c"), invalid("x")}} {
		if _, err := r.store.Commit(t.Context(), alone); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("%d invalid groups alone: %v, want UNAVAILABLE", len(alone), err)
		}
	}
}

// A promoted server may lack the last commits, and give their name to another caller. What a process
// remembers of the former server must not take it away.
func TestNoGuessAcrossAFailover(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	at := place{dsn: cluster.DSN("postgres")}
	ann, bob := registry(t, at, dibs.Config{}), registry(t, at, dibs.Config{})
	reserve := func(reg *dibs.Registry) dibs.Hold {
		t.Helper()
		hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "spring"})
		if err != nil {
			t.Fatal(err)
		}
		return hold
	}
	lost := reserve(ann)
	conn, err := pgx.Connect(t.Context(), at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"dibs_names", "dibs_events", "dibs_batches"} {
		if _, err := conn.Exec(t.Context(), "DELETE FROM dibs."+table); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Close(context.Background())
	cluster.Restart(t)
	held := reserve(bob)
	if _, err := ann.Confirm(t.Context(), dibs.Confirm{ID: lost.ID, Token: lost.Token, Entity: user("ann")}); !errors.Is(err, dibs.ErrLost) {
		t.Errorf("the caller that lost the name: %v, want RESERVATION_LOST", err)
	}
	if _, err := bob.Confirm(t.Context(), dibs.Confirm{ID: held.ID, Token: held.Token, Entity: user("bob")}); err != nil {
		t.Errorf("the present holder: %v", err)
	}
}

// A role or a database that does not exist is a mistake: trying again later does not help.
func TestOpenWithAMistakenAddress(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	for _, dsn := range []string{cluster.DSN("nosuch"), withParam(t, cluster.DSN("postgres"), "user", "nosuch")} {
		store, err := pgstore.Open(t.Context(), dsn, pgstore.Config{})
		if err == nil {
			_ = store.Close()
			t.Fatal("it was opened")
		}
		if text := err.Error(); strings.Contains(text, "later") || !strings.Contains(text, "nosuch") || !strings.Contains(text, "check the role") || !errors.Is(err, dibs.ErrUnavailable) {
			t.Error(text)
		}
	}
}
