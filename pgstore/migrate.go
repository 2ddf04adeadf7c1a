package pgstore

import (
	"context"
	_ "embed" // for schema.sql
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
)

//go:embed schema.sql
var schemaFile string

// prepareScript makes the table of steps, and stepScript is the steps.
var prepareScript, stepScript, _ = strings.Cut(schemaFile, "-- Steps\n")

// statementsIn returns the statements of a script for a schema. Each is a transaction: not every
// server with the protocol of PostgreSQL can roll back more than one schema change.
func statementsIn(script, schema string) (list []string) {
	quoted := pgx.Identifier{schema}.Sanitize()
	for statement := range strings.SplitSeq(script, ";\n") {
		if statement = withoutComments(statement); statement != "" {
			list = append(list, strings.ReplaceAll(statement, "{schema}", quoted))
		}
	}
	return list
}

func withoutComments(statement string) string {
	var lines []string
	for line := range strings.Lines(statement) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// Migrate brings the tables in a schema up to date. [Open] does the same, unless
// Config.NoMigrations is set. It can run at any time and in several processes at once, and
// resumes where it was interrupted.
func Migrate(ctx context.Context, dsn string, cfg Config) error {
	config, err := cfg.complete(dsn)
	if err != nil {
		return err
	}
	return onSchema(ctx, config.ConnConfig, cfg.Schema, migrate)
}

// onSchema runs do on a connection of its own, without the store's timeouts: a change to a
// large table may take longer, and wait longer for its lock, than a call of the store.
func onSchema(ctx context.Context, config *pgx.ConnConfig, schema string, do func(context.Context, *pgx.Conn, string) error) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("pgstore: cannot connect: %w", connectError(err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding != "UTF8" {
		return fmt.Errorf("%w: it is %s", ErrEncoding, encoding)
	}
	return do(ctx, conn, schema)
}

// requireCurrent refuses a schema that is not up to date.
func requireCurrent(ctx context.Context, conn *pgx.Conn, schema string) error {
	known := len(statementsIn(stepScript, schema))
	done, err := applied(ctx, conn, schema, known)
	if err == nil && done < known {
		return fmt.Errorf("%w: %d of %d steps are done in schema %q", ErrOldSchema, done, known, schema)
	}
	return err
}

// applied returns how many steps are done. It refuses more than this build knows.
func applied(ctx context.Context, conn *pgx.Conn, schema string, known int) (done int, err error) {
	err = conn.QueryRow(ctx, fmt.Sprintf("SELECT coalesce(max(step), 0) FROM %s.dibs_schema", pgx.Identifier{schema}.Sanitize())).Scan(&done)
	switch code := codeOf(err); {
	case code == pgerrcode.UndefinedTable, code == pgerrcode.InvalidSchemaName:
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("pgstore: cannot read the version of schema %q: %w", schema, withHint(err))
	}
	if done > known {
		return 0, fmt.Errorf("%w: it has %d steps, this build knows %d", ErrNewerSchema, done, known)
	}
	return done, nil
}

func migrate(ctx context.Context, conn *pgx.Conn, schema string) error {
	list := statementsIn(stepScript, schema)
	done, err := applied(ctx, conn, schema, len(list))
	if err != nil || done == len(list) {
		return err
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	if done == 0 {
		for _, statement := range statementsIn(prepareScript, schema) {
			if err := retryMigration(ctx, func() error {
				_, err := conn.Exec(ctx, statement)
				return err
			}); err != nil {
				return fmt.Errorf("pgstore: cannot prepare schema %q: %w", schema, err)
			}
		}
	}
	for i := done; i < len(list); i++ {
		if err := retryMigration(ctx, func() error { return step(ctx, conn, quoted, i+1, list[i]) }); err != nil {
			return fmt.Errorf("pgstore: step %d of %d of the migration of schema %q: %w", i+1, len(list), schema, err)
		}
	}
	return nil
}

// step runs one step, unless it is done. The number of the step in the table is the lock: a
// second process that inserts it waits for the first one.
func step(ctx context.Context, conn *pgx.Conn, schema string, number int, statement string) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO "+schema+".dibs_schema (step) VALUES ($1) ON CONFLICT DO NOTHING", number)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, statement)
		return err
	})
}

// retryMigration repeats a step that failed because another process did the same at the same
// time. IF NOT EXISTS does not prevent that: its check and the creation are not atomic.
func retryMigration(ctx context.Context, do func() error) error {
	const attempts = 100
	retry := newBackoff()
	for attempt := 1; ; attempt++ {
		err := do()
		switch code := codeOf(err); {
		case err == nil:
			return nil
		case attempt == attempts:
			return err
		case lostRace(err), isLocked(err):
		case code == pgerrcode.UniqueViolation, code == pgerrcode.DuplicateTable, code == pgerrcode.DuplicateSchema, code == pgerrcode.DuplicateObject:
		case code == pgerrcode.InternalError && strings.Contains(err.Error(), "tuple concurrently updated"):
		default:
			return err
		}
		if waitErr := retry.Wait(ctx); waitErr != nil {
			return errors.Join(err, waitErr)
		}
	}
}
