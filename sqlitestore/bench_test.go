package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs"
)

// BenchmarkCommit is the cost of a reservation for the engine: load absent names, and commit them
// with an event each, a number of them in one call.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newTest(b)
			groups := make([]dibs.Group, size)
			refs := make([]dibs.Ref, size)
			next := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range groups {
					n := heldName(numbered(next))
					next++
					refs[i], groups[i] = n.Ref(), insertGroup(n)
				}
				if found := mustLoad(b, s, refs...); len(found) != 0 {
					b.Fatal("names exist already")
				}
				mustCommit(b, s, groups...)
			}
			b.ReportMetric(float64(next)/b.Elapsed().Seconds(), "groups/s")
		})
	}
}

// BenchmarkPlainLoop is the baseline: one transaction with one INSERT per claim, on one connection,
// into a table with a key and a few columns.
func BenchmarkPlainLoop(b *testing.B) {
	db := sql.OpenDB(connector(dsn(filepath.Join(b.TempDir(), "plain.db"), Config{}, "_journal_mode", "WAL")))
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, `CREATE TABLE claims (key TEXT PRIMARY KEY, token BLOB, principal TEXT, created_at INTEGER, expires_at INTEGER)`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(ctx, `INSERT INTO claims VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	if err != nil {
		b.Fatal(err)
	}
	next := 0
	for b.Loop() {
		n := heldName(numbered(next))
		next++
		if _, err := insert.ExecContext(ctx, n.Key(), n.Token[:], n.Principal, int64(n.CreatedAt), int64(n.ExpiresAt)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(next)/b.Elapsed().Seconds(), "groups/s")
}

// BenchmarkLoad loads existing names.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newTest(b)
			var groups []dibs.Group
			for i := range 10_000 {
				groups = append(groups, insertGroup(heldName(numbered(i))))
			}
			mustCommit(b, s, groups...)
			refs := make([]dibs.Ref, size)
			next := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range refs {
					refs[i] = groups[next%len(groups)].Reads[0].Ref
					next++
				}
				if found := mustLoad(b, s, refs...); len(found) != size {
					b.Fatalf("%d of %d found", len(found), size)
				}
			}
			b.ReportMetric(float64(next)/b.Elapsed().Seconds(), "names/s")
		})
	}
}
