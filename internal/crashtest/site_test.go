//go:build unix

package crashtest_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the caller's own transactions

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/sqlitestore"
)

// site is where the stores of a flow are: a folder for SQLite, schemas of PostgreSQL. Each
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
	"postgres": {createSchemas, cloneSchemas, openPostgres, beginPostgres},
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
