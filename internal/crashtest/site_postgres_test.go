//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// A site on PostgreSQL is a schema for the tables of the caller, and one beside it for each store. All are in one
// database, and a new site takes over the tables of one that is over: the server takes longer to make a database,
// or the tables of a store, than for most flows. The sessions of a site have its name.

// pristine is a site that no flow uses: its store "names" has the rows of a new one.
const pristine = "site_0"

// sites are those that are over. The store "names" of each has its tables, with the rows that it had last.
var sites struct {
	makePristine sync.Once
	made         atomic.Int64

	sync.Mutex
	over []string
}

// storeSchema is the schema of a store of a site.
func storeSchema(site, store string) string { return site + "_" + store }

// siteName is the name of the site with an address.
func siteName(at string) (string, error) {
	config, err := pgx.ParseConfig(at)
	if err != nil {
		return "", err
	}
	return config.RuntimeParams["application_name"], nil
}

func createSchemas(tb testing.TB) site { return newSite(tb, pristine) }

func cloneSchemas(tb testing.TB, of site) site {
	from, err := siteName(of.Address)
	if err != nil {
		tb.Fatal(err)
	}
	return newSite(tb, from)
}

// newSite returns a site with all rows of another one.
func newSite(tb testing.TB, from string) site {
	tb.Helper()
	name := takeTables(tb)
	tb.Cleanup(func() { leaveTables(tb, name) })
	onCluster(tb, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf(`DO $$ DECLARE t text; BEGIN
			CREATE SCHEMA %[1]s;
			FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '%[2]s' LOOP
				EXECUTE format('CREATE TABLE %[1]s.%%1$I (LIKE %[2]s.%%1$I INCLUDING ALL)', t);
				EXECUTE format('INSERT INTO %[1]s.%%1$I SELECT * FROM %[2]s.%%1$I', t);
			END LOOP;
			FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '%[4]s' LOOP
				EXECUTE format('DELETE FROM %[3]s.%%1$I', t);
				EXECUTE format('INSERT INTO %[3]s.%%1$I SELECT * FROM %[4]s.%%1$I', t);
			END LOOP;
		END $$`, name, from, storeSchema(name, "names"), storeSchema(from, "names")))
		return err
	})
	// The caller's statements name no schema.
	path := url.Values{"application_name": {name}, "search_path": {name}}
	return site{"postgres", pgtest.Shared(tb).DSN("postgres") + "&" + path.Encode()}
}

// takeTables returns the name of a site that is over, or of a new one.
func takeTables(tb testing.TB) string {
	tb.Helper()
	sites.makePristine.Do(func() { makeTables(tb, pristine) })
	name := func() string {
		sites.Lock()
		defer sites.Unlock()
		if len(sites.over) == 0 {
			return ""
		}
		name := sites.over[0]
		sites.over = sites.over[1:]
		return name
	}()
	if name == "" {
		name = fmt.Sprintf("site_%d", sites.made.Add(1))
		makeTables(tb, name)
	}
	return name
}

func makeTables(tb testing.TB, name string) {
	tb.Helper()
	dsn := pgtest.Shared(tb).DSN("postgres")
	if err := pgstore.Migrate(context.Background(), dsn, pgstore.Config{Schema: storeSchema(name, "names")}); err != nil {
		tb.Fatal(err)
	}
}

// leaveTables ends the sessions of processes that were killed, which may be in the middle of something, and removes
// all other tables of a site.
func leaveTables(tb testing.TB, name string) {
	tb.Helper()
	copied, fenced := storeSchema(name, "copy"), false
	onCluster(tb, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = '"+name+"'")
		if err != nil {
			return err
		}
		// A copy fences its source, which changes the tables.
		if err := conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", copied).Scan(&fenced); err != nil {
			return err
		}
		gone := name
		if fenced {
			gone += ", " + copied + ", " + storeSchema(name, "names")
		}
		_, err = conn.Exec(ctx, "DROP SCHEMA "+gone+" CASCADE")
		return err
	})
	if !fenced {
		sites.Lock()
		defer sites.Unlock()
		sites.over = append(sites.over, name)
	}
}

// cluster has the connections of onCluster. They are kept: a new session reads the catalog first, which takes the
// server longer than most statements here.
var cluster struct {
	sync.Once
	*pgxpool.Pool
}

// onCluster runs statements on a connection that no flow uses.
func onCluster(tb testing.TB, do func(context.Context, *pgx.Conn) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cluster.Do(func() {
		var err error
		if cluster.Pool, err = pgxpool.New(context.Background(), pgtest.Shared(tb).DSN("postgres")); err != nil {
			tb.Fatal(err)
		}
	})
	if err := cluster.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return do(ctx, conn.Conn()) }); err != nil {
		tb.Fatal(err)
	}
}

func openPostgres(ctx context.Context, at, name string, frozen time.Time, shift time.Duration) (dibs.Store, error) {
	site, err := siteName(at)
	if err != nil {
		return nil, err
	}
	cfg := pgstore.Config{Schema: storeSchema(site, name), Timeout: time.Minute}
	switch {
	case !frozen.IsZero():
		cfg.ClockSQL = fmt.Sprintf("%d::bigint", frozen.UnixMilli())
	case shift != 0:
		cfg.ClockSQL = fmt.Sprintf("floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + %d", shift.Milliseconds())
	}
	return pgstore.Open(ctx, at, cfg)
}

func beginPostgres(tb harness.TB, at, _ string) transaction {
	ctx := tb.Context()
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		tb.Fatal(err)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return transaction{
		bind: func(reg *dibs.Registry) *dibs.Registry { return pgstore.WithTx(reg, tx) },
		exec: func(statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		count: func(query string) (n int, err error) {
			err = tx.QueryRow(ctx, query).Scan(&n)
			return n, err
		},
		commit: func() error { return tx.Commit(ctx) },
		close:  func() { _ = conn.Close(context.Background()) },
	}
}
