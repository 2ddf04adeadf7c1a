// Package pgstore keeps a registry of names in PostgreSQL.
//
//	store, err := pgstore.Open(ctx, "postgres://localhost/shop", pgstore.Config{})
//
// Any number of processes may use one database, each with its own writer and sweeper:
// revisions of rows decide between them (optimistic concurrency). A registry can also join a
// caller's transaction, see [WithTx]: then a row and its name are committed together.
//
// A Commit is one conditional transaction in one round trip, whatever the number of its
// groups. If its answer is lost, the store asks the database for the outcome.
//
// The tables are in a schema of their own. \d+ in psql, or schema.sql, describe them.
package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/inflight"
)

// Store is a [dibs.Store] on a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	queries
	cfg  Config
	pool *pgxpool.Pool

	failovers failovers
	batches   batchIDs
	stamps    stamps
	clock     clock
	locked    lockedRecords
	feed      *feed
	start     atomic.Pointer[position] // see checkStart; nil until it is known

	calls inflight.Calls // the calls that Close waits for
}

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Pinger   = (*Store)(nil)
	_ dibs.Waker    = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ dibs.Parallel = (*Store)(nil)
	_ bisect.Seeker = (*Store)(nil)
)

// Writers returns how many batches the registry should commit at once.
func (s *Store) Writers() int { return s.cfg.Writers }

// Now estimates the database's clock.
func (s *Store) Now() (dibs.Instant, bool) {
	if s.cfg.ClockSQL != "" {
		return 0, false // a test moves it
	}
	return s.clock.estimate(time.Now())
}

// Ping asks the database for the time.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Load(ctx, nil)
	return err
}

// Close waits for the calls under way and closes the connections. All later calls
// return UNAVAILABLE, caused by [dibs.ErrClosed]. Closing twice is allowed.
func (s *Store) Close() error {
	return s.calls.Close(func() error {
		s.feed.close()
		s.pool.Close()
		return nil
	})
}

// Config holds a store's settings. The zero Config is usable.
type Config struct {
	// Schema is the schema of the tables. Open creates it if it is missing. Empty means
	// "dibs".
	Schema string

	// NoMigrations makes Open refuse a schema that is not up to date, instead of changing it.
	// It is for roles that may not create tables; run [Migrate] with a role that may.
	NoMigrations bool

	// Writers is how many batches the registry commits at once, unless its own Config sets it.
	// Zero means 2; a server with many cores can use more.
	Writers int

	// LockWait is how long a transaction waits for a record that another one has locked.
	// After that the command is tried again apart from others. Zero means 20 ms; it should be
	// longer than a commit takes on the server's disk.
	LockWait time.Duration

	// Timeout limits one call to the database. Zero means 10 seconds.
	Timeout time.Duration

	// NoNotify turns NOTIFY off, for servers without it. Events then reach waiting callers a
	// little later.
	NoNotify bool

	// TransactionPooling is for a pooler between the store and the server that assigns a session
	// to each transaction, such as PgBouncer in transaction mode. The store then sends its
	// settings with each transaction, prepares no statements, and polls instead of listening.
	TransactionPooling bool

	// Tracer traces statements, as the Tracer of a pgx connection. Nil means none. Package
	// pgotel has one for OpenTelemetry.
	Tracer pgx.QueryTracer

	// ClockSQL is for tests: an SQL expression that replaces the database's clock, in
	// milliseconds since 1970.
	ClockSQL string
}

// complete sets the defaults, checks the settings, and reads the DSN.
func (c *Config) complete(dsn string) (*pgxpool.Config, error) {
	c.Schema = cmp.Or(c.Schema, "dibs")
	c.Writers = cmp.Or(max(c.Writers, 0), 2)
	c.LockWait = cmp.Or(max(c.LockWait, 0), 20*time.Millisecond)
	c.Timeout = cmp.Or(max(c.Timeout, 0), 10*time.Second)
	c.NoNotify = c.NoNotify || c.TransactionPooling // no notification would reach its client
	if len(c.Schema) > maxIdentifier {
		return nil, fmt.Errorf("pgstore: schema name %q is longer than %d bytes: choose a shorter one", c.Schema, maxIdentifier)
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	if c.TransactionPooling && !strings.Contains(dsn, "default_query_exec_mode") {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, nil
}

const maxIdentifier = 63 // PostgreSQL truncates longer names

// Open opens the store in a database. The DSN is a URL or keywords of PostgreSQL, with
// pool_max_conns and the other settings of pgxpool. Open creates missing tables; several
// processes may do so at once.
//
// Errors match [ErrNewerSchema], [ErrOldSchema] or [ErrEncoding], or say what is wrong with
// the connection.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	poolConfig, err := cfg.complete(dsn)
	if err != nil {
		return nil, err
	}
	if mode := poolConfig.ConnConfig.DefaultQueryExecMode; mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
		// These modes cannot encode an array of ids.
		return nil, fmt.Errorf("pgstore: default_query_exec_mode %q does not work here: use cache_describe or describe_exec, which need no prepared statements", mode)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		poolConfig.MaxConns = int32(cfg.Writers + 8) // 8 for reads
	}
	if _, named := poolConfig.ConnConfig.RuntimeParams["application_name"]; !named {
		poolConfig.ConnConfig.RuntimeParams["application_name"] = "dibs"
	}
	do := migrate
	if cfg.NoMigrations {
		do = requireCurrent
	}
	if err := onSchema(ctx, poolConfig.ConnConfig, cfg.Schema, do); err != nil {
		return nil, err
	}
	poolConfig.ConnConfig.Tracer = cfg.Tracer
	noteWarnings(poolConfig.ConnConfig)
	s := &Store{cfg: cfg}
	_, _ = rand.Read(s.batches.prefix[:]) // never fails
	s.queries = queries{newStatements(cfg.Schema, cfg.ClockSQL), s.readCalls}
	if cfg.TransactionPooling {
		s.sql.settings = &call{text: s.sql.named("settings of a transaction"), args: cfg.timeouts()}
	}
	poolConfig.AfterConnect = s.prepare
	if s.pool, err = pgxpool.NewWithConfig(ctx, poolConfig); err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	s.feed = newFeed(s, cfg.Schema)
	return s, nil
}

// prepare sets up a new connection.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) error {
	// A statement that runs once is not worth preparing: that takes a round trip.
	const once = pgx.QueryExecModeExec
	if s.sql.settings == nil {
		if _, err := conn.Exec(ctx, s.sql.named("settings"), append([]any{once}, s.cfg.timeouts()...)...); err != nil {
			return err
		}
	}
	var started string
	err := conn.QueryRow(ctx, "SELECT pg_postmaster_start_time()::text", once).Scan(&started)
	if refused(err) {
		return nil // not a PostgreSQL server
	}
	if s.failovers.observe(started) {
		s.clock.reset()
	}
	return err
}

// timeouts returns the parameters of the settings: how long a statement waits for a lock, and how
// long it may take, in milliseconds. The server's timeout is longer than Timeout: a server that
// cancels its wait for a standby reports the commit as a success.
func (c *Config) timeouts() []any {
	lock, call := max(1, c.LockWait.Milliseconds()), max(1, 2*c.Timeout.Milliseconds())
	return []any{strconv.FormatInt(lock, 10), strconv.FormatInt(call, 10)}
}
