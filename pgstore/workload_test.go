package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// workload calls all verbs of a registry.
type workload struct {
	*testing.T
	rig   *rig
	reg   *dibs.Registry
	clock *sequenceClock
}

// ok fails the test on an error.
func (w *workload) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// apply runs commands, one after another.
func (w *workload) apply(commands ...dibs.Command) {
	w.Helper()
	for _, command := range commands {
		if _, err := w.reg.Apply(context.Background(), command); err != nil {
			w.Fatalf("%#v: %v", command, err)
		}
	}
}

func (w *workload) ownNames() {
	w.Helper()
	w.apply(
		dibs.Claim{Namespace: "slug", Value: "spring", Entity: user("1")},
		dibs.Rename{Namespace: "slug", Value: "summer", Entity: user("1")},
		dibs.Rename{Namespace: "slug", Value: "spring", Entity: user("1")}, // its own alias
		dibs.Claim{Namespace: "slug", Value: "autumn", Entity: user("2")},
		dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "spring", Entity: user("1")}, B: dibs.Named{Value: "autumn", Entity: user("2")}},
		dibs.Transfer{Namespace: "slug", Value: "autumn", From: user("1"), To: user("3")},
		dibs.Archive{Entity: user("2")},
		dibs.Restore{Entity: user("2")},
		dibs.Decommission{Namespace: "slug", Value: "summer", Entity: user("1")},
		dibs.Delete{Entity: user("3")},
		dibs.Claim{Namespace: "email", Value: "a@example.com", Entity: user("1")},
		dibs.Claim{Namespace: "email", Value: "b@example.com", Entity: user("1")},
		dibs.Rename{Namespace: "email", Value: "c@example.com", From: "b@example.com", Entity: user("1")},
	)
	_, err := w.reg.Apply(context.Background(), // several at once
		dibs.Claim{Namespace: "slug", Value: "one", Entity: user("4")},
		dibs.Rename{Namespace: "slug", Value: "two", Entity: user("4")},
	)
	w.ok(err)
}

func (w *workload) holdNames() {
	w.Helper()
	ctx := context.Background()
	hold, err := w.reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "held", Meta: map[string]string{"a": "b"}})
	w.ok(err)
	w.apply(
		dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Hour)},
		dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: user("5")},
		dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "x"}, {Namespace: "email", Value: "x@example.com"}}},
		dibs.ReserveFirst{Namespace: "slug", Values: []string{"x", "y"}},
		dibs.Reserve{Namespace: "shop", Value: "suspect", Entity: user("6")},
		dibs.Reserve{Namespace: "shop", Value: "settled", Entity: user("6")},
	)
	released, err := w.reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "released"})
	w.ok(err)
	w.apply(dibs.Release{ID: released.ID, Token: released.Token})
	_, err = w.reg.Do(ctx, dibs.Reserve{Namespace: "slug", Value: "done"}, func(context.Context, dibs.Hold) (dibs.Entity, error) { return user("7"), nil })
	w.ok(err)
	if _, err := w.reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "held"}); !errors.Is(err, dibs.ErrNameTaken) {
		w.Errorf("%v, want NAME_TAKEN", err)
	}
}

func (w *workload) readAll() {
	w.Helper()
	ctx := context.Background()
	_, err := w.reg.Check(ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"held", "free"}, Suggest: 3})
	w.ok(err)
	_, err = w.reg.Resolve(ctx, "slug", "spring")
	w.ok(err)
	_, err = w.reg.Entity(ctx, "", user("1"))
	w.ok(err)
	_, err = w.reg.List(ctx, dibs.NamesQuery{Namespace: "slug", State: dibs.Active, Prefix: "s", Limit: 1})
	w.ok(err)
	_, err = w.reg.History(ctx, "slug", "spring")
	w.ok(err)
	_, err = w.reg.WhoHeld(ctx, "slug", "spring", time.Now())
	w.ok(err)
	_, err = w.reg.Conflicts(ctx, dibs.ConflictsQuery{})
	w.ok(err)
	_, err = w.reg.DryRun(ctx, dibs.Delete{Entity: user("1")})
	w.ok(err)
	for _, err := range w.reg.Watch(ctx, dibs.FeedQuery{}) {
		w.ok(err)
		break
	}
}

// crowd reserves a number of names concurrently.
func (w *workload) crowd(size int) {
	w.Helper()
	var group sync.WaitGroup
	for i := range size {
		group.Go(func() {
			if _, err := w.reg.Reserve(context.Background(), dibs.Reserve{Namespace: "crowd", Value: fmt.Sprint(i)}); err != nil {
				w.Error(err)
			}
		})
	}
	group.Wait()
}

// largeGroups commits groups with more changes than one statement takes.
func (w *workload) largeGroups(size int) {
	w.Helper()
	var create, demote, remove []part
	for i := range size {
		n := ownedName(fmt.Sprint("large-", i), user(fmt.Sprint("large-", i)))
		alias := next(n, func(n *dibs.NameRecord) { n.State = dibs.Alias })
		d := document(fmt.Sprint("large-", i))
		create = append(create, inserting(n), event(dibs.EventClaimed, n), inserting(d))
		demote = append(demote, yielding(n, alias), event(dibs.EventDemoted, alias), reading(d))
		remove = append(remove, deleting(alias), deleting(d))
	}
	// And a new name with a long history.
	last := heldName("large")
	old := []part{inserting(last)}
	for rev := range size {
		last.Rev = uint64(rev) + 1
		old = append(old, event(dibs.EventExtended, last))
	}
	for _, parts := range [][]part{create, demote, remove, old} {
		w.rig.mustCommit(group(parts...))
	}
}

// sweepAll lets all holds and quarantines end.
func (w *workload) sweepAll() {
	w.Helper()
	for range 3 {
		w.clock.advance(31 * 24 * time.Hour)
		_, err := w.reg.Sweep(context.Background(), 10_000)
		w.ok(err)
	}
	page, err := w.reg.List(context.Background(), dibs.NamesQuery{Namespace: "crowd", State: dibs.Free})
	w.ok(err)
	if len(page.Names) > 0 {
		w.Errorf("%d names of the crowd are left", len(page.Names))
	}
}

// inside runs the verbs that a transaction supports.
func (w *workload) inside(tx any, prefix string) {
	w.Helper()
	inside := &workload{T: w.T, rig: w.rig, reg: pgstore.WithTx(w.reg, tx), clock: w.clock}
	hold, err := inside.reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: prefix})
	w.ok(err)
	inside.apply(
		dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: user(prefix)},
		dibs.Rename{Namespace: "slug", Value: prefix + "-2", Entity: user(prefix)},
		dibs.Transfer{Namespace: "slug", Value: prefix + "-2", From: user(prefix), To: user(prefix + "-2")},
		dibs.Delete{Entity: user(prefix)},
	)
	if _, err := inside.reg.Claim(context.Background(), dibs.Claim{Namespace: "slug", Value: "held", Entity: user(prefix)}); !errors.Is(err, dibs.ErrNameTaken) {
		w.Errorf("%v, want NAME_TAKEN", err)
	}
	_, err = inside.reg.History(context.Background(), "slug", prefix)
	w.ok(err)
	_, err = inside.reg.Events(context.Background(), dibs.FeedQuery{})
	w.ok(err)
	_, err = inside.reg.List(context.Background(), dibs.NamesQuery{})
	w.ok(err)
}

func (w *workload) insidePgxTx() {
	w.Helper()
	conn, err := pgx.Connect(context.Background(), w.rig.proxy.DSN(w.rig.dsn))
	w.ok(err)
	defer func() { _ = conn.Close(context.Background()) }()
	w.ok(pgx.BeginFunc(context.Background(), conn, func(tx pgx.Tx) error {
		w.inside(tx, "pgx")
		return nil
	}))
}

func (w *workload) insideSQLTx() {
	w.Helper()
	db, err := sql.Open("pgx", w.rig.proxy.DSN(w.rig.dsn))
	w.ok(err)
	defer db.Close()
	tx, err := db.BeginTx(context.Background(), nil)
	w.ok(err)
	w.inside(tx, "sql")
	w.ok(tx.Commit())
}
