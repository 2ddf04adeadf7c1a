//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/sqlitestore"
)

// churned is how many names are reserved and released again and again.
const churned = 10_000

// churn is G7: a million times on PostgreSQL, beside ten million names. The rate stays, dead
// rows are few, and updates that change no index leave the indexes alone.
func churn(l *lab, e *estate) []row {
	if e.engine != "PostgreSQL" {
		return nil
	}
	l.Helper()
	r := openOnPostgres(l, dibs.Config{})
	defer r.remove()
	tenth := max(l.names/100, 2*fillers)
	var count atomic.Int64
	cycle := func(string) error {
		name := fmt.Sprintf("again-%d", count.Add(1)%churned)
		hold, err := r.Reserve(context.Background(), dibs.Reserve{Namespace: namespace, Value: name})
		if err == nil {
			_, err = r.Release(context.Background(), dibs.Release{ID: hold.ID, Token: hold.Token})
		}
		return err
	}
	var rates sample
	for range 10 {
		rates = append(rates, l.work(fillers, times(tenth), cycle).rate())
	}
	l.must(r.Close())
	w := l.wear(r.where)
	return []row{
		{what: "10,000 names reserved and released, rate of the last tenth", unit: figures.PerSecond, ours: figuresOf(rates[9]), against: peer{is: "the second tenth"}, peer: figuresOf(rates[1]), want: atLeast(0.85)},
		{what: "share of HOT updates", unit: figures.Share, ours: figuresOf(float64(w.Hot) / float64(max(w.Updated, 1)))},
		{what: "dead rows for each name", unit: figures.Share, ours: figuresOf(float64(w.Dead) / churned)},
		{what: "bytes for each cycle, with its two events", unit: figures.Bytes, ours: figuresOf(l.sizeOfSchema(r.where) / float64(10*tenth))},
	}
}

// wear is what PostgreSQL counted in the tables of Dibs.
type wear struct{ Updated, Hot, Dead int64 }

// wear waits until all sessions have ended, since they report their counts then.
func (l *lab) wear(dsn string) wear {
	l.Helper()
	l.awaitNoSession(l.databaseOf(dsn))
	conn, err := pgx.Connect(l.Context(), dsn)
	l.must(err)
	defer func() { _ = conn.Close(l.Context()) }() // nothing is left to be sent
	found, err := conn.Query(l.Context(), `
		SELECT sum(n_tup_upd)::bigint AS updated, sum(n_tup_hot_upd)::bigint AS hot, sum(n_dead_tup)::bigint AS dead
		FROM pg_stat_user_tables WHERE schemaname = 'dibs'`)
	l.must(err)
	w, err := pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[wear])
	l.must(err)
	return w
}

// backupAtSize is G8: a backup of SQLite while callers reserve.
func backupAtSize(l *lab, e *estate) []row {
	if e.engine != "SQLite" {
		return nil
	}
	l.Helper()
	store, err := e.open(l.Context(), e.big)
	l.must(err)
	r := e.openOver(l, store, e.big, dibs.Config{})
	defer r.close()
	target := filepath.Join(filepath.Dir(e.big), "backup.db")
	_ = os.Remove(target) // of a run that was stopped
	defer func() { _ = os.Remove(target) }()

	reserve := reserveNew(r)
	quiet := l.load(r, fillers, reserve)
	var (
		took    time.Duration
		busy    run
		over    atomic.Bool
		loaders sync.WaitGroup
	)
	loaders.Go(func() { busy = l.work(fillers, once(func() bool { return !over.Load() }), reserve) })
	peak := largest(e.big+"-wal", func() {
		begin := time.Now()
		err = store.(*sqlitestore.Store).Backup(l.Context(), target)
		took = time.Since(begin)
	})
	over.Store(true)
	loaders.Wait()
	l.must(err)
	return []row{
		{what: "WAL of SQLite during a backup, peak", unit: figures.Megabytes, ours: figuresOf(peak / (1 << 20)), want: atMost(200)},
		{what: "backup of SQLite beside 64 callers", unit: figures.Seconds, ours: figuresOf(took.Seconds())},
		{what: "reserve during a backup of SQLite, 64 callers", unit: figures.PerSecond, ours: figuresOf(busy.rate()), against: peer{is: "the same without"}, peer: figuresOf(quiet.rate())},
	}
}

// largest returns the largest size that a file has while fn runs.
func largest(path string, fn func()) (size float64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	for {
		if info, err := os.Stat(path); err == nil {
			size = max(size, float64(info.Size()))
		}
		select {
		case <-done:
			return size
		case <-time.After(10 * time.Millisecond):
		}
	}
}
