package pgstore_test

import (
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

// longRun is how long the storm goes on, and that everything is tried, if the environment
// says so: DIBS_TEST_LONG=1m go test ./pgstore.
func longRun() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("DIBS_TEST_LONG")) // nothing, or nonsense: no
	return d
}

// usually picks how much of something a test does: a little in every run, more in a long
// one.
func usually[T any](little, more T) T {
	if longRun() > 0 {
		return more
	}
	return little
}

// place is a database with a schema in it: where registries meet.
type place struct {
	dsn    string
	schema string // empty means the usual one
}

// ownSchema is a place of the test's own on the cluster that all tests share.
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

// registryOn opens a registry on a store that is not like the usual one.
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

func openRegistry(at place, storeConfig pgstore.Config, cfg dibs.Config) (*dibs.Registry, error) {
	storeConfig.Schema = at.schema
	store, err := pgstore.Open(context.Background(), at.dsn, storeConfig)
	if err != nil {
		return nil, err
	}
	return core.Open(store, cfg)
}

// complaints is a logger that fails the test.
func complaints(tb testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(complainer{tb}, nil))
}

type complainer struct{ testing.TB }

func (c complainer) Write(line []byte) (int, error) {
	c.Errorf("logged: %s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// connect opens a session that has nothing to do with any registry.
func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// begin begins a transaction of a caller's own, in a session of its own.
func begin(tb testing.TB, at place) pgx.Tx {
	tb.Helper()
	tx, err := connect(tb, at.dsn).Begin(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return tx
}

const patience = 30 * time.Second

// await asks until the answer is yes.
func await(tb testing.TB, what string, ask func() bool) {
	tb.Helper()
	for begin := time.Now(); !ask(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			tb.Fatalf("waited %v in vain until %s", patience, what)
		}
	}
}

// each runs work by so many callers at once, and returns when all are done.
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

// percentile returns what so many of a hundred calls did not exceed.
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
