//go:build unix

package bench

import (
	"context"
	"database/sql"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
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

// plainTable is a plain table in PostgreSQL. pgx prepares a statement at its first use
// on a connection, and needs one round trip for each call after that.
type plainTable struct {
	pool *pgxpool.Pool
	drop func()
}

func plainOnPostgres(l *lab) contender { return openPlain(l, l.bestPool()) }

func openPlain(l *lab, connections int) contender {
	l.Helper()
	dsn, drop := l.newDatabase()
	cfg, err := pgxpool.ParseConfig(dsn)
	l.must(err)
	cfg.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(l.Context(), cfg)
	l.must(err)
	_, err = pool.Exec(l.Context(), plainSchema)
	l.must(err)
	return &plainTable{pool: pool, drop: drop}
}

func (t *plainTable) reserve(name string) (bool, error) {
	tag, err := t.pool.Exec(context.Background(),
		`INSERT INTO tenant_slug_registry (slug, confirmed) VALUES ($1, FALSE) ON CONFLICT DO NOTHING`, name)
	return tag.RowsAffected() == 1, err
}

func (t *plainTable) pair(name string) error {
	if err := reserveFree(t)(name); err != nil {
		return err
	}
	var tenant [16]byte
	copy(tenant[:], name)
	_, err := t.pool.Exec(context.Background(),
		`UPDATE tenant_slug_registry SET tenant_id = $1, confirmed = TRUE WHERE slug = $2`, tenant, name)
	return err
}

func (t *plainTable) close() {
	t.pool.Close()
	t.drop()
}

// poolSizes are tried to find the best size of the plain table's pool.
var poolSizes = []int{8, 16, 32, 64}

// bestPool returns the number of connections with which the plain table is fastest
// under many callers. It is measured once for all goals.
func (l *lab) bestPool() int {
	l.Helper()
	if *l.pool == 0 {
		*l.pool = l.findBestPool()
	}
	return *l.pool
}

func (l *lab) findBestPool() int {
	l.Helper()
	short := l.in(l.TB)
	short.length, short.profile = l.length/3, nil
	var sides []func() float64
	for _, size := range poolSizes {
		open := func(l *lab) contender { return openPlain(l, size) }
		sides = append(sides, short.turn(open, short.reserveRate))
	}
	best, bestRate := 0, 0.0
	for i, rates := range short.takeTurns(sides...) {
		if rate := rates.median(); rate > bestRate {
			best, bestRate = poolSizes[i], rate
		}
	}
	l.Logf("the plain table is fastest with %d connections: %s", best, perSecond.format(bestRate))
	return best
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
