//go:build unix

// Package pgtest starts real, private PostgreSQL clusters for tests, from the installed
// server. A cluster has a temporary folder, listens only on a Unix socket in it, and is
// gone when the test binary has ended, even if it was killed.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs/internal/harness"
)

// patience is how long a cluster may take for any step on a busy machine.
const patience = time.Minute

// Options change the defaults of a cluster.
type Options struct {
	// Settings are PostgreSQL's own, by name. They override those of this package,
	// which are fast and keep commits when processes are killed, but not when the power
	// fails: a benchmark sets fsync and full_page_writes to "on".
	Settings map[string]string
	// Env are variables for PostgreSQL's processes, as NAME=value. Nil means none.
	Env []string
	// Folder keeps the data of the cluster, which is created if it is missing and stays when
	// the test has ended. Empty means a temporary folder.
	Folder string
}

// Cluster is a PostgreSQL server with its data. Call Kill, Restart, Stop, Standby and
// Promote from one goroutine at a time; all other methods are safe for concurrent use.
type Cluster struct {
	home     *home
	settings map[string]string
	shared   bool

	postmaster *process // the latest
	standbys   []string
	names      atomic.Int64 // how many names were generated
}

var sharedCluster = sync.OnceValues(func() (*Cluster, error) {
	c, err := startCluster(Options{})
	if err == nil {
		c.shared = true
	}
	return c, err
})

// Shared returns the cluster that all tests of a test binary share, for tests that need
// only their own database or schema. It starts at its first use and ends with the binary.
func Shared(tb harness.TB) *Cluster {
	tb.Helper()
	c, err := sharedCluster()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Start starts a separate cluster for the test, which ends with the test.
func Start(tb harness.TB, opts Options) *Cluster {
	tb.Helper()
	c, err := startCluster(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.end(tb) })
	return c
}

// DSN returns the URL of a database of the cluster for pgx, as the superuser.
func (c *Cluster) DSN(database string) string {
	dsn := url.URL{
		Scheme: "postgres",
		User:   url.User(superuser),
		Path:   "/" + database,
		RawQuery: url.Values{
			"host":    {c.home.dir},
			"port":    {port},
			"sslmode": {"disable"},
		}.Encode(),
	}
	return dsn.String()
}

// SocketAddr returns the address of the cluster, for a proxy in front of it.
func (c *Cluster) SocketAddr() (network, addr string) {
	return "unix", filepath.Join(c.home.dir, socketName)
}

// NewDatabase creates an empty database and returns its DSN. It is dropped with the test, or
// with the test's own cluster. It takes about 0.1 s: use a schema where that is enough.
func (c *Cluster) NewDatabase(tb harness.TB) string {
	tb.Helper()
	return c.create(tb, "")
}

// CopyDatabase creates a copy of a database that no connection uses, and returns its DSN. It is dropped
// like that of NewDatabase.
func (c *Cluster) CopyDatabase(tb harness.TB, database string) string {
	tb.Helper()
	return c.create(tb, " TEMPLATE "+database)
}

func (c *Cluster) create(tb harness.TB, options string) (dsn string) {
	tb.Helper()
	name := c.uniqueName("database")
	err := await("the database is created", func() (bool, error) {
		err := c.exec("CREATE DATABASE " + name + options)
		refused, _ := errors.AsType[*pgconn.PgError](err)
		if refused != nil && refused.Code == pgerrcode.ObjectInUse {
			return false, nil // the session of a closed connection takes a moment to end
		}
		return err == nil, err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if c.shared { // another one is removed with all of its databases
		tb.Cleanup(func() {
			if err := c.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
				tb.Error(err)
			}
		})
	}
	return c.DSN(name)
}

// NewSchema returns a schema name that is unique in the cluster. The test creates the
// schema in the database postgres; it is dropped with the test, or with the test's own
// cluster.
func (c *Cluster) NewSchema(tb harness.TB) string {
	tb.Helper()
	name := c.uniqueName("schema")
	if c.shared {
		tb.Cleanup(func() {
			if err := c.exec("DROP SCHEMA IF EXISTS " + name + " CASCADE"); err != nil {
				tb.Error(err)
			}
		})
	}
	return name
}

func (c *Cluster) uniqueName(kind string) string {
	return fmt.Sprintf("test_%s_%d", kind, c.names.Add(1))
}

// exec runs a statement in the database postgres, in its own session.
func (c *Cluster) exec(statement string) error {
	return c.connected(func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}

// Connect connects to a database. The connection is closed when the test ends.
func Connect(tb harness.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// isTrue runs a query that returns one boolean.
func (c *Cluster) isTrue(question string, args ...any) (answer bool, err error) {
	err = c.connected(func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, question, args...).Scan(&answer)
	})
	return answer, err
}

func (c *Cluster) connected(fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is left to be sent
	return fn(ctx, conn)
}
