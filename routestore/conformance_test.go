//go:build unix

package routestore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// opener opens an empty engine, and returns how to open it again.
type opener func(tb testing.TB, clock *storetest.Clock) (again func() dibs.Store)

func inMemory(_ testing.TB, clock *storetest.Clock) func() dibs.Store {
	return func() dibs.Store { return memstore.New(memstore.Config{Now: clock.Now}) }
}

func onSQLite(tb testing.TB, clock *storetest.Clock) func() dibs.Store {
	path := filepath.Join(tb.TempDir(), "names.db")
	return func() dibs.Store {
		return opened(sqlitestore.Open(context.Background(), path, sqlitestore.Config{Now: clock.Now}))(tb)
	}
}

// schemas are empty schemas of the shared cluster. To make one takes longer than most cases.
var (
	schemas     = make(chan string, 100)
	schemasMade atomic.Int64
)

// onPostgres opens a schema whose clock is a sequence, which the suite can move.
func onPostgres(tb testing.TB, clock *storetest.Clock) func() dibs.Store {
	dsn := pgtest.Shared(tb).DSN("postgres")
	conn := pgtest.Connect(tb, dsn)
	run := func(statements string) {
		if _, err := conn.Exec(context.Background(), statements); err != nil {
			tb.Error(err)
		}
	}
	var schema string
	select {
	case schema = <-schemas:
	default:
		schema = fmt.Sprint("reused_", schemasMade.Add(1))
		run(fmt.Sprintf("CREATE SCHEMA %s; CREATE SEQUENCE %[1]s.clock", schema))
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			return
		}
		for _, table := range []string{"name_rows", "entities", "documents", "events", "batches", "counts"} {
			run(fmt.Sprintf("DELETE FROM %s.dibs_%s", schema, table))
		}
		run(fmt.Sprintf("UPDATE %s.dibs_head SET seq = 0", schema))
		schemas <- schema
	})
	clock.Follow(func(now time.Time) { run(fmt.Sprintf("SELECT setval('%s.clock', %d)", schema, now.UnixMilli())) })
	return func() dibs.Store {
		return opened(pgstore.Open(context.Background(), dsn+"&pool_max_conns=6", pgstore.Config{
			Schema: schema, LockWait: 3 * time.Second, ClockSQL: "(SELECT last_value FROM " + schema + ".clock)",
		}))(tb)
	}
}

func onEtcd(tb testing.TB, clock *storetest.Clock) func() dibs.Store {
	cluster := etcdtest.Shared(tb)
	var wall atomic.Int64 // a copy: the clock itself is locked while it moves
	wall.Store(clock.Now().UnixNano())
	cfg := etcdstore.Config{
		Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), MaxSkew: -1, Timeout: 30 * time.Second, MaxTxnOps: 4096,
		Now: func() time.Time { return time.Unix(0, wall.Load()) },
	}
	var first sync.Once
	return func() dibs.Store {
		store := opened(etcdstore.Open(context.Background(), cfg))(tb)
		first.Do(func() {
			clock.Follow(func(now time.Time) {
				if now.UnixNano() < wall.Swap(now.UnixNano()) {
					if err := store.(*etcdstore.Store).SetTime(context.Background(), now); err != nil {
						tb.Error(err)
					}
				}
			})
		})
		return store
	}
}

func opened[S dibs.Store](store S, err error) func(tb testing.TB) dibs.Store {
	return func(tb testing.TB) dibs.Store {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return store
	}
}

// open opens a store with routes.
func open(tb testing.TB, routes ...routestore.Route) *routestore.Store {
	tb.Helper()
	store, err := routestore.Open(context.Background(), routestore.Config{Routes: routes})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// end closes a registry or a store.
func end(tb testing.TB, c io.Closer) {
	tb.Helper()
	if err := c.Close(); err != nil {
		tb.Error(err)
	}
}

// quickly is open for a test without other processes.
func quickly(tb testing.TB, routes ...routestore.Route) *routestore.Store {
	tb.Helper()
	store, err := routestore.Open(context.Background(), routestore.Config{Routes: routes}.WithWait(time.Millisecond))
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// harness opens stores of two engines: one for acme and all below it, one for all others.
func harness(acme, rest opener, disk bool) storetest.Harness {
	var opens sync.Map // of dibs.Store to how it was opened
	start := func(tb testing.TB, again func() []routestore.Route) dibs.Store {
		store := open(tb, again()...)
		opens.Store(dibs.Store(store), again)
		return store
	}
	h := storetest.Harness{
		Apart: true,
		Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
			openAcme, openRest := acme(tb, clock), rest(tb, clock)
			return start(tb, func() []routestore.Route {
				return []routestore.Route{
					{Name: "acme", Scopes: []string{"acme.*"}, Store: openAcme()},
					{Name: "rest", Scopes: []string{routestore.Everything}, Store: openRest()},
				}
			})
		},
	}
	if disk {
		h.Reopen = func(tb testing.TB, store dibs.Store, _ *storetest.Clock) dibs.Store {
			again, _ := opens.Load(store)
			return start(tb, again.(func() []routestore.Route))
		}
		h.Share = h.Reopen
	}
	return h
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		acme, rest opener
		disk, long bool
	}{
		{name: "memory and memory", acme: inMemory, rest: inMemory},
		{name: "SQLite and PostgreSQL", acme: onSQLite, rest: onPostgres, disk: true},
		{name: "PostgreSQL and SQLite", acme: onPostgres, rest: onSQLite, disk: true, long: true},
		{name: "etcd and SQLite", acme: onEtcd, rest: onSQLite, disk: true, long: true},
		{name: "SQLite and etcd", acme: onSQLite, rest: onEtcd, disk: true, long: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			switch {
			case c.long && os.Getenv("DIBS_TEST_LONG") == "":
				t.Skip("DIBS_TEST_LONG is not set")
			case c.disk && testing.Short():
				t.Skip("the engines have their own suites")
			}
			storetest.Run(t, harness(c.acme, c.rest, c.disk))
		})
	}
}

// A single part is a store like any other.
func TestConformanceOfOnePart(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
			return open(tb, routestore.Route{Name: "default", Scopes: []string{"*"}, Store: memstore.New(memstore.Config{Now: clock.Now})})
		},
	})
}
