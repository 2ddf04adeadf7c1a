package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// impossible is a group that the tables do not take: a hold without a token.
func impossible(canonical string) dibs.Group {
	n := heldName(canonical)
	n.Token = dibs.TokenHash{}
	return group(inserting(n), telling(dibs.EventReserved, n))
}

// What the server will not take fails whoever asked for it, and nobody beside.
func TestOnlyTheCulpritFails(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	var groups []dibs.Group
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		groups = append(groups, reserving(name))
	}
	groups[2] = impossible("c")
	outcomes, err := r.store.Commit(t.Context(), groups)
	r.judge(groups, outcomes, err)
	for i, outcome := range outcomes {
		want := dibs.Committed
		if i == 2 {
			want = dibs.Busy
		}
		if outcome != want {
			t.Errorf("group %d is %v, want %v", i, outcome, want)
		}
	}
	for _, alone := range [][]dibs.Group{{impossible("c")}, {impossible("c"), impossible("x")}} {
		if _, err := r.store.Commit(t.Context(), alone); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("%d of them, and nobody else: %v, want UNAVAILABLE", len(alone), err)
		}
	}
}

// A server that takes over may lack what was acknowledged last, and somebody else has the
// name there. What is remembered of the old one must not take it away.
func TestNothingIsGuessedAcrossAFailover(t *testing.T) {
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
		t.Errorf("who lost the name in the failover: %v, want RESERVATION_LOST", err)
	}
	if _, err := bob.Confirm(t.Context(), dibs.Confirm{ID: held.ID, Token: held.Token, Entity: user("bob")}); err != nil {
		t.Errorf("who has it now: %v", err)
	}
}
