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

// concurrently runs work b.N times, by so many callers at once, and reports the rate.
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

// BenchmarkPlainTransaction is the peer: check, then insert, with one transaction a
// claim, in a plain loop on one connection.
func BenchmarkPlainTransaction(b *testing.B) {
	path := filepath.Join(b.TempDir(), "plain.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	_, err = db.ExecContext(ctx, `CREATE TABLE reservations (
		slug TEXT PRIMARY KEY, entity_id TEXT, reserved_at INTEGER NOT NULL, confirmed INTEGER NOT NULL DEFAULT 0)`)
	if err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(ctx, `INSERT INTO reservations (slug, reserved_at) VALUES (?, unixepoch()) ON CONFLICT DO NOTHING`)
	if err != nil {
		b.Fatal(err)
	}
	concurrently(b, 1, func(i int) error {
		_, err := insert.ExecContext(ctx, fmt.Sprintf("name-%d", i))
		return err
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

// BenchmarkStampede settles a race of 10,000 callers for one name.
func BenchmarkStampede(b *testing.B) {
	reg := openRegistry(b, dibs.Config{})
	for i := range b.N {
		won, _, err := stampede(reg, 10_000, fmt.Sprintf("name-%d", i))
		if err != nil || won != 1 {
			b.Fatalf("%d winners, %v", won, err)
		}
	}
}
