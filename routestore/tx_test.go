package routestore_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/sqlitestore"
)

// shared opens an engine on a file with tables of the caller.
func shared(t *testing.T) (*sqlitestore.Store, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "product.db")
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{Shared: true, BusyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return store, db
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// A transaction works on the only part with the same engine.
func TestTransaction(t *testing.T) {
	t.Parallel()
	engine, db := shared(t)
	registry := registryOn(t, open(t, twoParts(engine, memstore.New(memstore.Config{}))...))
	defer end(t, registry)
	for _, commits := range []bool{false, true} {
		tx := begin(t, db)
		inside := sqlitestore.WithTx(registry, tx)
		if err := claim(inside, "acme.slug", "a"); err != nil {
			t.Fatal(err)
		}
		hold, err := inside.Reserve(t.Context(), dibs.Reserve{Namespace: "acme.slug", Value: "b", Token: tokens[0]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inside.Release(t.Context(), dibs.Release{ID: hold.ID, Token: tokens[0]}); err != nil {
			t.Error(err)
		}
		if err := claim(inside, "slug", "a"); !errors.Is(err, dibs.ErrUnsupported) || !strings.Contains(err.Error(), `is on the store "acme"`) {
			t.Errorf("a name of another part: %v", err)
		}
		if _, err := inside.Events(t.Context(), dibs.FeedQuery{}); !errors.Is(err, dibs.ErrUnsupported) {
			t.Errorf("the feed: %v", err)
		}
		end := tx.Rollback
		if commits {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		found, err := registry.IsReserved(t.Context(), "acme.slug", "a")
		if err != nil || found != commits {
			t.Errorf("after the end of the transaction: %v, %v, want %v", found, err, commits)
		}
	}
}

func TestTransactionOnAnyOfSeveral(t *testing.T) {
	t.Parallel()
	first, db := shared(t)
	second, _ := shared(t)
	registry := registryOn(t, open(t, twoParts(first, second)...))
	defer end(t, registry)
	tx := begin(t, db)
	err := claim(sqlitestore.WithTx(registry, tx), "acme.slug", "a")
	if !errors.Is(err, dibs.ErrUnsupported) || !strings.Contains(err.Error(), "acme, rest") {
		t.Errorf("%v, want ErrUnsupported that names both", err)
	}
	plain := registryOn(t, open(t, twoParts(memstore.New(memstore.Config{}), memstore.New(memstore.Config{}))...))
	defer end(t, plain)
	if err := claim(sqlitestore.WithTx(plain, tx), "slug", "a"); !errors.Is(err, dibs.ErrUnsupported) {
		t.Errorf("without SQLite: %v", err)
	}
}

// A single part joins transactions like the engine itself.
func TestTransactionOfOnePart(t *testing.T) {
	t.Parallel()
	engine, db := shared(t)
	registry := registryOn(t, open(t, routestore.Route{Name: "default", Scopes: []string{"*"}, Store: engine}))
	defer end(t, registry)
	tx := begin(t, db)
	if err := claim(sqlitestore.WithTx(registry, tx), "acme.slug", "a"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if found, err := registry.IsReserved(t.Context(), "acme.slug", "a"); err != nil || !found {
		t.Errorf("%v, %v", found, err)
	}
}

// A transaction may commit after the routes have changed, so it rests on them: a change of the
// routes waits for its end, and after the change a transaction fails, although the lease is
// valid.
func TestTransactionRestsOnTheRoutes(t *testing.T) {
	t.Parallel()
	db := pgtest.Shared(t)
	schema := db.NewSchema(t)
	engine := func() dibs.Store {
		store, err := pgstore.Open(t.Context(), db.DSN("postgres"), pgstore.Config{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	rest := memstore.New(memstore.Config{})
	registry := registryOn(t, open(t, twoParts(engine(), rest)...))
	conn, err := pgx.Connect(t.Context(), db.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	begin := func() pgx.Tx {
		tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead}) // else the namespace record tells
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}

	tx := begin()
	if err := claim(pgstore.WithTx(registry, tx), "acme.slug", "a"); err != nil {
		t.Fatal(err)
	}
	other := engine()
	defer end(t, other)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	moved := []routestore.Route{{Name: "acme", Store: other}, {Name: "rest", Scopes: []string{"*"}, Store: rest}}
	if _, err := routestore.Open(ctx, routestore.Config{Routes: moved}.WithWait(time.Millisecond)); err == nil {
		t.Error("the routes changed while a name was under way")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	changed, err := routestore.Open(t.Context(), routestore.Config{Routes: moved}.WithWait(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, changed)
	tx = begin()
	if err := claim(pgstore.WithTx(registry, tx), "acme.slug", "a"); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("with the former routes: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
