package pgstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs"
)

// call is one statement with its arguments, and who reads its rows.
type call struct {
	text string
	args []any
	scan func(row scanner) error // nil: nobody reads them
}

// scanner is a row of pgx's or of database/sql's.
type scanner interface {
	Scan(dests ...any) error
}

// pipeline sends all calls in one go and then reads the answers: one round trip.
// After the first that fails the server skips the rest.
func pipeline(ctx context.Context, conn *pgx.Conn, calls ...call) error {
	if len(calls) == 1 { // needs no pipeline
		rows, err := conn.Query(ctx, calls[0].text, calls[0].args...)
		if err != nil {
			return err
		}
		return errors.Join(readRows(rows, calls[0].scan), notWaited(conn))
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
		}
		if err != nil {
			first = err
			break
		}
	}
	// Also waits for the end of it all, where a commit can still fail.
	return errors.Join(first, results.Close(), notWaited(conn))
}

func readRows(rows pgx.Rows, scan func(scanner) error) error {
	defer rows.Close()
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

// read runs calls that change nothing, in one round trip. A connection that turns
// out to be dead, after a restart of the server say, is replaced; then the calls are
// made anew.
func (s *Store) read(ctx context.Context, calls func() []call) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	err := s.readAgain(ctx, calls)
	if err != nil && ctx.Err() != nil {
		return dibs.Unavailable(err) // the caller gave up: that says nothing about the database
	}
	return unavailable(err)
}

// readAttempts is how often a read is tried.
const readAttempts = 10

// readAgain tries until it is answered: after a restart of the server the connection
// was dead, and at SERIALIZABLE others may have been in the way.
func (s *Store) readAgain(ctx context.Context, calls func() []call) (err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	wait := firstWait
	for range readAttempts {
		err = s.use(ctx, func(conn *pgx.Conn) error { return pipeline(ctx, conn, calls()...) })
		if err == nil || refused(err) && !lostRace(err) || pause(ctx, jitter(wait)) != nil {
			return err
		}
		wait = min(2*wait, maxWait)
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
		// The server has gone, and with it every connection of the pool: they are not
		// to fail one by one.
		s.pool.Reset()
	}
	rollback(ctx, conn.Conn())
	return err
}

// runner runs statements in a transaction of the caller's, one by one.
type runner interface {
	run(ctx context.Context, c call) error
}

// pgxRunner is a transaction of pgx's.
type pgxRunner struct{ tx pgx.Tx }

func (r pgxRunner) run(ctx context.Context, c call) error {
	rows, err := r.tx.Query(ctx, c.text, c.args...)
	if err != nil {
		return err
	}
	return readRows(rows, c.scan)
}

// sqlRunner is a transaction of database/sql's, with pgx's driver below.
type sqlRunner struct{ tx *sql.Tx }

func (r sqlRunner) run(ctx context.Context, c call) error {
	rows, err := r.tx.QueryContext(ctx, c.text, c.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if c.scan == nil {
			continue
		}
		if err := c.scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// unsentError is an error before there was a connection.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// notSent reports whether an error came before anything was sent: nothing happened.
func notSent(err error) bool {
	var unsent unsentError
	return errors.As(err, &unsent) || pgconn.SafeToRetry(err)
}
