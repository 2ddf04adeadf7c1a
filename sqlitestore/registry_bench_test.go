package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
)

var callerCounts = []int{1, 64, 256}

// concurrently runs work b.N times by a number of callers, and reports the rate.
func concurrently(b *testing.B, callers int, work func(i int) error) {
	b.Helper()
	var (
		next  atomic.Int64
		group sync.WaitGroup
	)
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				if err := work(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// openPlain opens a database like a program without a registry, with one connection and the durability
// of Dibs.
func openPlain(b *testing.B, schema string) *sql.DB {
	b.Helper()
	path := filepath.Join(b.TempDir(), "plain.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(context.Background(), schema); err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkPlainInsert is the smallest baseline: one INSERT per claim, each in a transaction of its
// own, in a plain loop. It keeps no history, and its holds never end.
func BenchmarkPlainInsert(b *testing.B) {
	db := openPlain(b, `CREATE TABLE reservations (
		slug TEXT PRIMARY KEY, entity_id TEXT, reserved_at INTEGER NOT NULL, confirmed INTEGER NOT NULL DEFAULT 0)`)
	insert, err := db.PrepareContext(context.Background(),
		`INSERT INTO reservations (slug, reserved_at) VALUES (?, unixepoch()) ON CONFLICT DO NOTHING`)
	if err != nil {
		b.Fatal(err)
	}
	concurrently(b, 1, func(i int) error {
		_, err := insert.ExecContext(context.Background(), fmt.Sprintf("name-%d", i))
		return err
	})
}

// BenchmarkPlainClaim is the baseline that does what a reservation does: check that the name is free,
// hold it until a date, and write the history, in one transaction per claim, in a plain loop.
func BenchmarkPlainClaim(b *testing.B) {
	db := openPlain(b, `
		CREATE TABLE reservations (
			slug TEXT PRIMARY KEY, token BLOB NOT NULL, state TEXT NOT NULL, entity_id TEXT, expires_at INTEGER NOT NULL);
		CREATE INDEX by_expiry ON reservations (expires_at) WHERE state = 'held';
		CREATE TABLE events (seq INTEGER PRIMARY KEY, slug TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT);
		CREATE INDEX by_slug ON events (slug)`)
	ctx := context.Background()
	token := make([]byte, 32)
	concurrently(b, 1, func(i int) error {
		slug := fmt.Sprintf("name-%d", i)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var taken int
		err = tx.QueryRowContext(ctx, `SELECT count(*) FROM reservations WHERE slug = ? AND (state <> 'held' OR expires_at > unixepoch())`, slug).Scan(&taken)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO reservations VALUES (?, ?, 'held', NULL, unixepoch() + 300)`, slug, token); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO events (slug, kind, at, body) VALUES (?, 'reserved', unixepoch(), '{}')`, slug); err != nil {
			return err
		}
		return tx.Commit()
	})
}

func BenchmarkReserve(b *testing.B) {
	for _, callers := range callerCounts {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			reg := openRegistry(b, dibs.Config{})
			concurrently(b, callers, func(i int) error {
				_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("name-%d", i)})
				return err
			})
		})
	}
}

func BenchmarkReserveConfirm(b *testing.B) {
	for _, callers := range callerCounts {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			reg := openRegistry(b, dibs.Config{})
			ctx := context.Background()
			concurrently(b, callers, func(i int) error {
				hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("name-%d", i)})
				if err != nil {
					return err
				}
				_, err = reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}})
				return err
			})
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, callers := range callerCounts {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			reg := openRegistry(b, dibs.Config{})
			ctx := context.Background()
			const names = 1000
			for i := range names {
				claim := dibs.Claim{Namespace: "slug", Value: fmt.Sprintf("name-%d", i), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}}
				if _, err := reg.Claim(ctx, claim); err != nil {
					b.Fatal(err)
				}
			}
			concurrently(b, callers, func(i int) error {
				r, err := reg.Resolve(ctx, "slug", fmt.Sprintf("name-%d", i%names))
				if err == nil && r.Outcome != dibs.ResolveActive {
					err = errors.New("not active")
				}
				return err
			})
		})
	}
}

// BenchmarkStampede is a race of 10,000 callers for one name.
func BenchmarkStampede(b *testing.B) {
	reg := openRegistry(b, dibs.Config{})
	for i := range b.N {
		won, _, err := stampede(reg, 10_000, fmt.Sprintf("name-%d", i))
		if err != nil || won != 1 {
			b.Fatalf("%d winners, %v", won, err)
		}
	}
}
