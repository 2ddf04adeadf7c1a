package pgstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

var product = dibs.Entity{Type: "product", ID: "101"}

// shop is a registry, and a table and connections of the program.
type shop struct {
	reg    *dibs.Registry
	schema string // quoted
	name   string // of the schema
	begin  func(ctx context.Context, level string) (*callersTx, error)
	pool   *pgxpool.Pool
}

// callersTx is a caller's transaction of pgx or database/sql.
type callersTx struct {
	tx               any // the argument of WithTx
	exec             func(ctx context.Context, statement string, args ...any) error
	count            func(ctx context.Context, query string, args ...any) (int, error)
	commit, rollback func() error
}

// ways are the two kinds of transactions.
var ways = map[string]func(pool *pgxpool.Pool) func(ctx context.Context, level string) (*callersTx, error){
	"pgx": func(pool *pgxpool.Pool) func(context.Context, string) (*callersTx, error) {
		return func(ctx context.Context, level string) (*callersTx, error) {
			tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(level)})
			if err != nil {
				return nil, err
			}
			return &callersTx{
				tx: tx,
				exec: func(ctx context.Context, statement string, args ...any) error {
					_, err := tx.Exec(ctx, statement, args...)
					return err
				},
				count: func(ctx context.Context, query string, args ...any) (n int, err error) {
					return n, tx.QueryRow(ctx, query, args...).Scan(&n)
				},
				commit:   func() error { return tx.Commit(context.Background()) },
				rollback: func() error { return tx.Rollback(context.Background()) },
			}, nil
		}
	},
	"database/sql": func(pool *pgxpool.Pool) func(context.Context, string) (*callersTx, error) {
		db := stdlib.OpenDBFromPool(pool)
		sqlLevels := map[string]sql.IsolationLevel{
			"read committed": sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
		}
		return func(ctx context.Context, level string) (*callersTx, error) {
			// Not the caller's context: database/sql would roll back when it ends.
			tx, err := db.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: sqlLevels[level]})
			if err != nil {
				return nil, err
			}
			return &callersTx{
				tx: tx,
				exec: func(ctx context.Context, statement string, args ...any) error {
					_, err := tx.ExecContext(ctx, statement, args...)
					return err
				},
				count: func(ctx context.Context, query string, args ...any) (n int, err error) {
					return n, tx.QueryRowContext(ctx, query, args...).Scan(&n)
				},
				commit: tx.Commit, rollback: tx.Rollback,
			}, nil
		}
	},
}

// bothWays runs a test with each kind of transaction.
func bothWays(t *testing.T, cfg dibs.Config, test func(t *testing.T, s *shop)) {
	t.Helper()
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, pgstore.Config{}, cfg)
			s.begin = way(s.pool)
			test(t, s)
		})
	}
}

func openShop(t *testing.T, storeCfg pgstore.Config, cfg dibs.Config) *shop {
	t.Helper()
	dsn := pgtest.Shared(t).DSN("postgres")
	if storeCfg.Schema == "" {
		storeCfg.Schema = pgtest.Shared(t).NewSchema(t)
	}
	store, err := openPatient(dsn, storeCfg)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := core.Open(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &shop{reg: reg, schema: pgx.Identifier{storeCfg.Schema}.Sanitize(), name: storeCfg.Schema, pool: pool}
	s.begin = ways["pgx"](pool)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE "+s.schema+".products (id text PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	// The first name of a namespace has tests of its own.
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "first", Entity: dibs.Entity{Type: "product", ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// tx begins a transaction, and a registry in it.
func (s *shop) tx(t *testing.T, level string) (*callersTx, *dibs.Registry) {
	t.Helper()
	tx, err := s.begin(context.WithoutCancel(t.Context()), level)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.rollback() })
	return tx, pgstore.WithTx(s.reg, tx.tx)
}

// insert adds a row of the program, which fails in a failed transaction.
func (s *shop) insert(t *testing.T, tx *callersTx, id string) {
	t.Helper()
	if err := tx.exec(t.Context(), "INSERT INTO "+s.schema+".products VALUES ($1)", id); err != nil {
		t.Fatalf("the transaction is not usable: %v", err)
	}
}

// commit checks that no placeholder is left, and commits.
func (s *shop) commit(t *testing.T, tx *callersTx) {
	t.Helper()
	s.noPlaceholders(t, tx)
	if err := tx.commit(); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) noPlaceholders(t *testing.T, tx *callersTx) {
	t.Helper()
	for _, table := range []string{"dibs_name_rows", "dibs_entities", "dibs_documents"} {
		n, err := tx.count(t.Context(), "SELECT count(*) FROM "+s.schema+"."+table+" WHERE rev = 0")
		if err != nil || n != 0 {
			t.Errorf("%s has %d placeholders, %v", table, n, err)
		}
	}
}

func (s *shop) rows(t *testing.T, id string) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+s.schema+".products WHERE id = $1", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

func claim(value string, entity dibs.Entity) dibs.Claim {
	return dibs.Claim{Namespace: "slug", Value: value, Entity: entity}
}

func numbered(n int) dibs.Entity { return dibs.Entity{Type: "product", ID: fmt.Sprint(n)} }

// awaitLockWait waits until a session waits for a lock in the tables of the shop.
func (s *shop) awaitLockWait(t *testing.T) {
	t.Helper()
	await(t, "a session waits for a lock", func() (waits bool) {
		err := s.pool.QueryRow(t.Context(),
			"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND position($1 IN query) > 0", s.schema).Scan(&waits)
		return err == nil && waits
	})
}
