//go:build unix

package bench

import (
	"context"
	"database/sql"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that sqlitestore uses
)

// The peers are what programs do without a registry: a table with a unique name, one
// statement a call. They have no history, and their holds never end by themselves.

const plainSchema = `
	CREATE TABLE tenant_slug_registry (
		slug VARCHAR(63) PRIMARY KEY,
		tenant_id UUID,
		reserved_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		confirmed BOOLEAN NOT NULL DEFAULT FALSE
	);
	CREATE INDEX idx_slug_registry_unconfirmed ON tenant_slug_registry (reserved_at) WHERE confirmed = FALSE`

// bare is the peer on PostgreSQL.
var bare = peer{
	is:    "bare statement",
	lacks: "no history, no end of holds, no token, no owner: a crash blocks the name for ever, and no record says who had it",
}

// plainTable is a plain table in PostgreSQL. pgx prepares a statement at its first use
// on a connection, and needs one round trip for each call after that.
type plainTable struct{ *database }

func plainOnPostgres(l *lab) contender { return openPlain(l, l.bestPool(bareTable, openPlain)) }

func openPlain(l *lab, connections int) contender {
	l.Helper()
	return &plainTable{l.openDatabase(connections, plainSchema)}
}

func (t *plainTable) reserve(name string) (bool, error) {
	tag, err := t.Exec(context.Background(),
		`INSERT INTO tenant_slug_registry (slug, confirmed) VALUES ($1, FALSE) ON CONFLICT DO NOTHING`, name)
	return tag.RowsAffected() == 1, err
}

func (t *plainTable) pair(name string) error {
	if err := reserveFree(t)(name); err != nil {
		return err
	}
	_, err := t.Exec(context.Background(),
		`UPDATE tenant_slug_registry SET tenant_id = $1, confirmed = TRUE WHERE slug = $2`, tenantOf(name), name)
	return err
}

// tenantOf returns an ID for the owner of a name.
func tenantOf(name string) (id [16]byte) {
	copy(id[:], name)
	return id
}

// plainFile is the same table in an SQLite file with the same durability, with one
// connection for a lone caller.
type plainFile struct {
	db     *sql.DB
	insert *sql.Stmt
}

func plainOnSQLite(l *lab) contender {
	l.Helper()
	path := filepath.Join(l.TempDir(), "plain.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	l.must(err)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(l.Context(), `
		CREATE TABLE tenant_slug_registry (
			slug TEXT PRIMARY KEY,
			tenant_id TEXT,
			reserved_at INTEGER NOT NULL DEFAULT (unixepoch()),
			confirmed INTEGER NOT NULL DEFAULT FALSE
		);
		CREATE INDEX idx_slug_registry_unconfirmed ON tenant_slug_registry (reserved_at) WHERE confirmed = FALSE`)
	l.must(err)
	insert, err := db.PrepareContext(l.Context(),
		`INSERT INTO tenant_slug_registry (slug, confirmed) VALUES (?, FALSE) ON CONFLICT DO NOTHING`)
	l.must(err)
	return &plainFile{db: db, insert: insert}
}

func (f *plainFile) reserve(name string) (bool, error) {
	result, err := f.insert.ExecContext(context.Background(), name)
	if err != nil {
		return false, err
	}
	inserted, err := result.RowsAffected()
	return inserted == 1, err
}

func (f *plainFile) close() {
	_ = f.insert.Close()
	f.db.Close()
}
