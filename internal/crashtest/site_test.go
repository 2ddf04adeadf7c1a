//go:build unix

package crashtest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "modernc.org/sqlite" // the driver of the caller's own transactions

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// site is where the stores of a flow are: a folder for SQLite, a database of PostgreSQL. Each
// store has a name there.
type site struct {
	Engine  string `json:"engine"`
	Address string `json:"address"`
}

// engine is a kind of site.
type engine struct {
	// create returns an empty site, clone one that has what another one has. Nothing may be open in
	// that one.
	create func(tb testing.TB) site
	clone  func(tb testing.TB, of site) site
	// open opens a store, which is created if it is missing. Shift is how much later than the
	// machine's clock its own is; frozen is what it shows always.
	open func(ctx context.Context, at, name string, frozen time.Time, shift time.Duration) (dibs.Store, error)
	// begin begins a transaction of the caller on a store.
	begin func(tb harness.TB, at, name string) transaction
}

// transaction is a transaction of the caller, with a table "products" beside the names.
type transaction struct {
	bind   func(*dibs.Registry) *dibs.Registry
	exec   func(statement string) error
	count  func(query string) (n int, err error)
	commit func() error
	close  func() // rolls it back, unless it is committed
}

var engines = map[string]engine{
	"sqlite":   {createFolder, cloneFolder, openSQLite, beginSQLite},
	"postgres": {createDatabase, cloneDatabase, openPostgres, beginPostgres},
}

func createFolder(tb testing.TB) site { return site{"sqlite", tb.TempDir()} }

func cloneFolder(tb testing.TB, of site) site {
	copied := createFolder(tb)
	if err := os.CopyFS(copied.Address, os.DirFS(of.Address)); err != nil {
		tb.Fatal(err)
	}
	return copied
}

func sqlitePath(at, name string) string { return filepath.Join(at, name+".db") }

func openSQLite(ctx context.Context, at, name string, frozen time.Time, shift time.Duration) (dibs.Store, error) {
	now := func() time.Time {
		if frozen.IsZero() {
			return time.Now().Add(shift)
		}
		return frozen
	}
	return sqlitestore.Open(ctx, sqlitePath(at, name), sqlitestore.Config{Now: now, Shared: true})
}

func beginSQLite(tb harness.TB, at, name string) transaction {
	db, err := sql.Open("sqlite", "file:"+sqlitePath(at, name)+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return transaction{
		bind: func(reg *dibs.Registry) *dibs.Registry { return sqlitestore.WithTx(reg, tx) },
		exec: func(statement string) error {
			_, err := tx.ExecContext(tb.Context(), statement)
			return err
		},
		count: func(query string) (n int, err error) {
			err = tx.QueryRowContext(tb.Context(), query).Scan(&n)
			return n, err
		},
		commit: tx.Commit,
		close: func() {
			_ = tx.Rollback()
			_ = db.Close()
		},
	}
}

// clones counts the databases that were cloned.
var clones atomic.Int64

func createDatabase(tb testing.TB) site { return site{"postgres", pgtest.Shared(tb).NewDatabase(tb)} }

// cloneDatabase copies a database, and drops the copy with the test.
func cloneDatabase(tb testing.TB, of site) site {
	config, err := pgx.ParseConfig(of.Address)
	if err != nil {
		tb.Fatal(err)
	}
	name := fmt.Sprintf("clone_%d", clones.Add(1))
	execOnCluster(tb, "CREATE DATABASE "+name+" TEMPLATE "+config.Database+" STRATEGY FILE_COPY")
	tb.Cleanup(func() { execOnCluster(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return site{"postgres", pgtest.Shared(tb).DSN(name)}
}

// execOnCluster runs a statement that may have to wait until sessions that are over have ended.
func execOnCluster(tb testing.TB, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, pgtest.Shared(tb).DSN("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for {
		_, err := conn.Exec(ctx, statement)
		if in, is := errors.AsType[*pgconn.PgError](err); is && in.Code == pgerrcode.ObjectInUse {
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		return
	}
}

func openPostgres(ctx context.Context, at, name string, frozen time.Time, shift time.Duration) (dibs.Store, error) {
	cfg := pgstore.Config{Schema: name, Timeout: time.Minute}
	switch {
	case !frozen.IsZero():
		cfg.ClockSQL = fmt.Sprintf("%d::bigint", frozen.UnixMilli())
	case shift != 0:
		cfg.ClockSQL = fmt.Sprintf("floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + %d", shift.Milliseconds())
	}
	return pgstore.Open(ctx, at, cfg)
}

func beginPostgres(tb harness.TB, at, _ string) transaction {
	ctx := tb.Context()
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		tb.Fatal(err)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return transaction{
		bind: func(reg *dibs.Registry) *dibs.Registry { return pgstore.WithTx(reg, tx) },
		exec: func(statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		count: func(query string) (n int, err error) {
			err = tx.QueryRow(ctx, query).Scan(&n)
			return n, err
		},
		commit: func() error { return tx.Commit(ctx) },
		close:  func() { _ = conn.Close(context.Background()) },
	}
}
