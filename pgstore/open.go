package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Config holds a store's settings. The zero Config is a good one.
type Config struct {
	// Schema is where the tables are. It is created when it is missing. Empty means
	// "dibs".
	Schema string

	// NoMigrations leaves the schema as it is: Open then refuses one that is not up
	// to date. For roles that may not create tables; run [Migrate] with one that may.
	NoMigrations bool

	// Writers is how many batches are under way at once, unless the registry's own
	// Config says so. Zero means 2; more are of use where the server has many cores.
	Writers int

	// LockWait is how long a transaction waits for a record that another one has
	// locked. Then the command is tried again apart from others. Zero means 20 ms;
	// make it longer than a commit takes on your disk.
	LockWait time.Duration

	// Timeout is how long the database may take for one call. Zero means 10 seconds.
	Timeout time.Duration

	// NoNotify leaves out NOTIFY, for servers that do not know it. Who waits for
	// events then finds them a little later.
	NoNotify bool

	// Tracer is told about statements, as pgx's Tracer of a connection. Nil means nobody
	// is told. Package pgotel has one for OpenTelemetry.
	Tracer pgx.QueryTracer

	// ClockSQL is for tests: an SQL expression that is evaluated instead of the
	// database's clock, in milliseconds since 1970.
	ClockSQL string
}

func (c *Config) setDefaults() {
	if c.Schema == "" {
		c.Schema = "dibs"
	}
	setDefault(&c.Writers, 2)
	setDefault(&c.LockWait, 20*time.Millisecond)
	setDefault(&c.Timeout, 10*time.Second)
}

func setDefault[T int | time.Duration](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}

const maxIdentifier = 63 // PostgreSQL cuts longer names off

func (c *Config) checkSchema() error {
	if len(c.Schema) > maxIdentifier {
		return fmt.Errorf("pgstore: the schema's name %q is longer than %d bytes", c.Schema, maxIdentifier)
	}
	return nil
}

// Open opens the store in a database. The DSN is PostgreSQL's, as a URL or in
// keywords; pool_max_conns and the other settings of pgxpool may be in it. Tables
// that are missing are created; several processes may do so at once.
//
// Errors match [ErrNewerSchema], [ErrOldSchema] or [ErrEncoding], or say what is
// wrong with the connection.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	cfg.setDefaults()
	if err := cfg.checkSchema(); err != nil {
		return nil, err
	}
	poolConfig, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	if mode := poolConfig.ConnConfig.DefaultQueryExecMode; mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
		// Nothing tells these two how to write down an array of ids.
		return nil, fmt.Errorf("pgstore: default_query_exec_mode %q does not work here: use cache_describe or describe_exec, which need no prepared statements", mode)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		poolConfig.MaxConns = int32(cfg.Writers + 8) // and some that read
	}
	if _, named := poolConfig.ConnConfig.RuntimeParams["application_name"]; !named {
		poolConfig.ConnConfig.RuntimeParams["application_name"] = "dibs"
	}
	do := migrate
	if cfg.NoMigrations {
		do = checkSchema
	}
	if err := onSchema(ctx, poolConfig.ConnConfig, cfg.Schema, do); err != nil {
		return nil, err
	}
	poolConfig.ConnConfig.Tracer = cfg.Tracer
	noteWarnings(poolConfig.ConnConfig)
	s := &Store{cfg: cfg, sql: newStatements(cfg.Schema, cfg.ClockSQL), batches: newBatchIDs()}
	poolConfig.AfterConnect = s.prepare
	if s.pool, err = pgxpool.NewWithConfig(ctx, poolConfig); err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	s.feed = newFeed(s, cfg.Schema)
	return s, nil
}

// settings is what a new connection is set to, as far as its server knows it:
//   - what is acknowledged is on disk;
//   - nobody waits long for a lock, and a connection that is lost does not keep its
//     own for long;
//   - plans are made once, and are right for tables that grow by a million rows in
//     the meantime.
const settings = `SELECT set_config(s.name, v.value, false) FROM (VALUES
	('synchronous_commit', 'on'),
	('lock_timeout', $1),
	('statement_timeout', $2), ('idle_in_transaction_session_timeout', $2),
	('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'),
	('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')
	) AS v(name, value) JOIN pg_settings s ON s.name = v.name
	WHERE s.name <> 'synchronous_commit' OR s.setting = 'off'`

// prepare sets up a new connection.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) error {
	// The server gives up later than we do: one that cancels its wait for a standby calls the
	// commit a success.
	lock, call := max(1, s.cfg.LockWait.Milliseconds()), max(1, 2*s.cfg.Timeout.Milliseconds())
	if _, err := conn.Exec(ctx, settings, strconv.FormatInt(lock, 10), strconv.FormatInt(call, 10)); err != nil {
		return err
	}
	var started string
	err := conn.QueryRow(ctx, "SELECT pg_postmaster_start_time()::text").Scan(&started)
	if refused(err) {
		return nil // no server of PostgreSQL's own
	}
	if s.server.changes(started) {
		s.clock.forget()
	}
	return err
}
