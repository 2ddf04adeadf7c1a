package pgstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs"
)

// call is a statement with its arguments.
type call struct {
	text string
	args []any
	scan func(row scanner) error // reads a row; nil drops the rows
}

// scanner is a row of pgx or of database/sql.
type scanner interface {
	Scan(dests ...any) error
}

// scanInto returns a scan that stores the columns of a row.
func scanInto(dests ...any) func(scanner) error {
	return func(row scanner) error { return row.Scan(dests...) }
}

// pipeline sends all calls and then reads the answers: one round trip. After a call that fails
// the server skips the rest.
func pipeline(ctx context.Context, conn *pgx.Conn, calls ...call) error {
	if len(calls) == 1 {
		rows, err := conn.Query(ctx, calls[0].text, calls[0].args...)
		if err != nil {
			return err
		}
		err = readRows(rows, calls[0].scan)
		rows.Close()
		return errors.Join(err, takeWarning(conn))
	}
	var batch pgx.Batch
	for _, c := range calls {
		batch.Queue(c.text, c.args...)
	}
	results := conn.SendBatch(ctx, &batch)
	var first error
	for _, c := range calls {
		rows, err := results.Query()
		if err == nil {
			err = readRows(rows, c.scan)
			rows.Close()
		}
		if err != nil {
			first = err
			break
		}
	}
	// Close waits for the last answer: a commit can still fail there.
	return errors.Join(first, results.Close(), takeWarning(conn))
}

// rowSet is the answer of pgx or of database/sql.
type rowSet interface {
	scanner
	Next() bool
	Err() error
}

func readRows(rows rowSet, scan func(scanner) error) error {
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rollback ends a transaction that failed, so that the pool keeps the connection.
func rollback(ctx context.Context, conn *pgx.Conn) {
	if !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
}

// readCalls runs calls that change nothing, in one round trip. If the connection fails, it makes
// and runs them again on another one.
func (s *Store) readCalls(ctx context.Context, calls func() []call) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	err := s.retryRead(ctx, calls)
	if err != nil && ctx.Err() != nil {
		return dibs.Unavailable(err) // the caller gave up: the database is not the cause
	}
	return unavailable(err)
}

// retryRead runs calls until the server answers them. A connection fails after a restart of the
// server, and at SERIALIZABLE a read can lose a race.
func (s *Store) retryRead(ctx context.Context, calls func() []call) (err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	wait := newBackoff()
	for range maxAttempts {
		err = s.use(ctx, func(conn *pgx.Conn) error { return pipeline(ctx, conn, calls()...) })
		if err == nil || refused(err) && !lostRace(err) || wait.Wait(ctx) != nil {
			return err
		}
	}
	return err
}

// use runs fn on a connection of the pool.
func (s *Store) use(ctx context.Context, fn func(*pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return unsentError{err}
	}
	defer conn.Release()
	err = fn(conn.Conn())
	if conn.Conn().IsClosed() && ctx.Err() == nil {
		// The server is gone. Without the reset, later calls would fail on the other
		// connections of the pool.
		s.pool.Reset()
	}
	rollback(ctx, conn.Conn())
	return err
}

// runner runs statements in a caller's transaction, one by one.
type runner interface {
	run(ctx context.Context, c call) error
}

// pgxRunner is a transaction of pgx.
type pgxRunner struct{ tx pgx.Tx }

func (r pgxRunner) run(ctx context.Context, c call) error {
	rows, err := r.tx.Query(ctx, c.text, c.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return readRows(rows, c.scan)
}

// sqlRunner is a transaction of database/sql on the driver of pgx.
type sqlRunner struct{ tx *sql.Tx }

func (r sqlRunner) run(ctx context.Context, c call) error {
	rows, err := r.tx.QueryContext(ctx, c.text, c.args...) //nolint:rowserrcheck // readRows checks it
	if err != nil {
		return err
	}
	defer rows.Close()
	return readRows(rows, c.scan)
}

// unsentError is the error of a call that got no connection.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// notSent reports whether an error came before anything was sent.
func notSent(err error) bool {
	_, unsent := errors.AsType[unsentError](err)
	return unsent || pgconn.SafeToRetry(err)
}
