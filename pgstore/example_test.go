package pgstore_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/calldibs/dibs/embedded"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// exampleTB stands in for the testing.TB that an example does not get.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (*exampleTB) Helper()             {}
func (*exampleTB) Fatal(args ...any)   { log.Fatal(args...) }
func (*exampleTB) Error(args ...any)   { log.Print(args...) }
func (tb *exampleTB) Cleanup(f func()) { tb.cleanups = append(tb.cleanups, f) }

// newDatabase creates a database for an example, in the cluster of the tests.
func newDatabase() (dsn string, drop func()) {
	tb := &exampleTB{}
	dsn = pgtest.Shared(tb).NewDatabase(tb)
	return dsn, func() {
		for _, f := range tb.cleanups {
			f()
		}
	}
}

// A checkout: the name is held while the customer pays, and is the wedding's afterwards.
func ExampleOpen() {
	dsn, drop := newDatabase() // such as "postgres://localhost/shop"
	defer drop()
	ctx := context.Background()

	store, err := pgstore.Open(ctx, dsn, pgstore.Config{})
	check(err)
	reg, err := embedded.Open(store, dibs.Config{})
	check(err)
	defer reg.Close() // closes the store, too

	// The customer's session stores the token first: a repeated request, after a timeout or a second
	// click, gets the same hold.
	token := dibs.NewToken()
	reserve := dibs.Reserve{Namespace: "slug", Value: "alice-bob", Token: token}
	_, err = reg.Reserve(ctx, reserve)
	check(err)
	hold, err := reg.Reserve(ctx, reserve)
	check(err)
	fmt.Println(hold.Key(), hold.State, "replayed:", hold.Replayed)

	// … the customer pays, and the provider calls back, more than once …
	for range 2 {
		name, err := reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: token, Entity: dibs.Entity{Type: "wedding", ID: "42"}})
		check(err)
		fmt.Println(name.Key(), "belongs to", name.Entity)
	}
	// Output:
	// slug:alice-bob held replayed: true
	// slug:alice-bob belongs to wedding/42
	// slug:alice-bob belongs to wedding/42
}

// openBoth opens a registry, and the program's own pool beside it.
func openBoth(dsn string) (*dibs.Registry, *pgxpool.Pool, func()) {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, dsn, pgstore.Config{})
	check(err)
	reg, err := embedded.Open(store, dibs.Config{})
	check(err)
	db, err := pgxpool.New(ctx, dsn)
	check(err)
	return reg, db, func() {
		db.Close()
		check(reg.Close())
	}
}

// where prints where slugs lead.
func where(reg *dibs.Registry, slugs ...string) {
	for _, slug := range slugs {
		r, err := reg.Resolve(context.Background(), "slug", slug)
		check(err)
		if r.To != nil {
			fmt.Println(slug, r.Status, "to", r.To.Value)
			continue
		}
		fmt.Println(slug, r.Status)
	}
}
