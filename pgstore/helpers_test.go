package pgstore_test

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// longRun is set by DIBS_TEST_LONG=1m go test ./pgstore: tests try everything, and the storm takes
// that long.
func longRun() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("DIBS_TEST_LONG")) // zero if it is not a duration
	return d
}

// usually returns little, or more in a long run.
func usually[T any](little, more T) T {
	if longRun() > 0 {
		return more
	}
	return little
}

// sequential skips a test of one goroutine when the race detector runs, with -short.
func sequential(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("one goroutine has no race")
	}
}

// place is a schema in a database.
type place struct {
	dsn    string
	schema string // empty means the default
}

// ownSchema returns a new schema on the shared cluster.
func ownSchema(tb testing.TB) place {
	tb.Helper()
	shared := pgtest.Shared(tb)
	return place{shared.DSN("postgres"), shared.NewSchema(tb)}
}

// registry opens a registry in a place.
func registry(tb testing.TB, at place, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	return registryOn(tb, at, pgstore.Config{}, cfg)
}

// registryOn opens a registry on a store with settings.
func registryOn(tb testing.TB, at place, storeConfig pgstore.Config, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	reg, err := openRegistry(at, storeConfig, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := reg.Close(); err != nil {
			tb.Error(err)
		}
	})
	return reg
}

// openPatient opens a store whose calls do not fail on a busy machine, unless the test is about that.
func openPatient(dsn string, cfg pgstore.Config) (*pgstore.Store, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, patience)
	return pgstore.Open(context.Background(), dsn, cfg)
}

func openRegistry(at place, storeConfig pgstore.Config, cfg dibs.Config) (*dibs.Registry, error) {
	storeConfig.Schema = at.schema
	store, err := openPatient(at.dsn, storeConfig)
	if err != nil {
		return nil, err
	}
	return core.Open(store, cfg)
}

// failingLogger is a logger that fails the test.
func failingLogger(tb testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(failingWriter{tb}, nil))
}

type failingWriter struct{ testing.TB }

func (c failingWriter) Write(line []byte) (int, error) {
	c.Errorf("logged: %s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// connect opens a connection outside of any registry.
func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// begin begins a caller's transaction, on a connection of its own.
func begin(tb testing.TB, at place) pgx.Tx {
	tb.Helper()
	tx, err := connect(tb, at.dsn).Begin(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return tx
}

// patience is how long a busy machine may take for what must happen.
const patience = 2 * time.Minute

// await polls until a condition is true.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for begin := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			tb.Fatalf("timeout after %v, waiting until %s", patience, what)
		}
	}
}

// each runs work by a number of concurrent callers.
func each(callers int, work func(caller int)) {
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() { work(caller) })
	}
	group.Wait()
}

// latencies are how long calls took.
type latencies struct {
	mu   sync.Mutex
	took []time.Duration
}

func (l *latencies) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, took)
}

// percentile returns a percentile of the latencies.
func (l *latencies) percentile(p float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return l.took[min(len(l.took)-1, int(float64(len(l.took))*p/100))]
}

func (l *latencies) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.took)
}
