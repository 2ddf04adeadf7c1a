package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// follower reads the feed as a consumer does, page by page behind the last cursor.
type follower struct {
	*rig
	reg    *dibs.Registry
	after  dibs.Cursor
	events []dibs.Event
}

// values returns the names of all events that were read.
func (f *follower) values() (values []string) {
	for _, e := range f.events {
		values = append(values, e.Value)
	}
	return values
}

// catchUp reads to the end of the feed, and returns the names of all events that were read.
func (f *follower) catchUp() []string {
	f.Helper()
	for {
		page, err := f.reg.Events(context.Background(), dibs.FeedQuery{After: f.after, Limit: 3})
		if err != nil {
			f.Fatal(err)
		}
		if len(page.Events) == 0 {
			return f.values()
		}
		f.events = append(f.events, page.Events...)
		f.after = page.Next
	}
}

// A transaction that commits late comes behind what was read meanwhile: readers neither miss it nor
// wait for it.
func TestSlowTransactionIsNotSkipped(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	reg := r.registry(r.store, dibs.Config{})
	readers := []*follower{
		{rig: r, reg: reg},
		{rig: r, reg: r.registry(r.aside(pgstore.Config{}), dibs.Config{})},
	}
	claim := func(reg *dibs.Registry, value string) {
		t.Helper()
		if _, err := reg.Claim(context.Background(), dibs.Claim{Namespace: "slug", Value: value, Entity: user(value)}); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(context.Background(), pgtest.Shared(t).DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var want []string
	for round := range 3 {
		name := func(what string) string { return fmt.Sprint(what, "-", round) }
		claim(reg, name("before"))
		tx, err := conn.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		slow := pgstore.WithTx(reg, tx)
		claim(slow, name("slow"))
		claim(reg, name("meanwhile"))
		want = append(want, name("before"), name("meanwhile"))
		for _, f := range readers {
			if got := f.catchUp(); !slices.Equal(got, want) {
				t.Errorf("while the transaction is open the feed is %v, want %v", got, want)
			}
		}
		if err := tx.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		claim(reg, name("after"))
		for i, f := range readers {
			got := f.catchUp()
			if tail := slices.Sorted(slices.Values(got[len(want):])); !slices.Equal(tail, []string{name("after"), name("slow")}) {
				t.Errorf("reader %d got %v after the commit", i, tail)
			}
		}
		if want = readers[0].values(); !slices.Equal(want, readers[1].values()) {
			t.Errorf("two readers got different orders: %v, %v", want, readers[1].values())
		}
	}
}
