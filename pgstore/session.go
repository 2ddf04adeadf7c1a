package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgerrcode"
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
// server, and at SERIALIZABLE a read can lose a race. No commit locks what a read reads, but a vacuum that
// gives back the end of a table does, for longer than LockWait.
func (s *Store) retryRead(ctx context.Context, calls func() []call) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	attempt := 0
	return s.retry(ctx, calls, func(err error) bool {
		if isLocked(err) {
			return false
		}
		attempt++
		return attempt == maxAttempts || refused(err) && !lostRace(err)
	})
}

// retry makes and runs calls in one round trip, until they succeed, an error is final, or the
// context ends.
func (s *Store) retry(ctx context.Context, calls func() []call, final func(error) bool) error {
	for wait := newBackoff(); ; {
		err := s.use(ctx, func(conn *pgx.Conn) error { return pipeline(ctx, conn, s.sql.withSettings(calls())...) })
		if err == nil || final(err) || wait.Wait(ctx) != nil {
			return err
		}
	}
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
	if !conn.Conn().IsClosed() && conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, "ROLLBACK") // the pool keeps only connections without a transaction
	}
	return err
}

// runner runs a statement in a caller's transaction.
type runner func(ctx context.Context, c call) error

func pgxRunner(tx pgx.Tx) runner {
	return func(ctx context.Context, c call) error {
		rows, err := tx.Query(ctx, c.text, c.args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return readRows(rows, c.scan)
	}
}

// sqlRunner is for a transaction of database/sql on the driver of pgx.
func sqlRunner(tx *sql.Tx) runner {
	return func(ctx context.Context, c call) error {
		rows, err := tx.QueryContext(ctx, c.text, c.args...) //nolint:rowserrcheck // readRows checks it
		if err != nil {
			return err
		}
		defer rows.Close()
		return readRows(rows, c.scan)
	}
}

// unsentError is the error of a call that got no connection.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// notSent reports whether an error came before anything was sent.
func notSent(err error) bool {
	_, unsent := errors.AsType[unsentError](err)
	return unsent || pgconn.SafeToRetry(err)
}

// diagnoseTimeout is how long the database may take to answer whether commits wait.
const diagnoseTimeout = time.Second

// Diagnose returns why a commit is not answered: it may wait for a synchronous standby.
// Empty means that the database does not answer, or shows no reason.
func (s *Store) Diagnose(ctx context.Context) dibs.Cause {
	if err := s.calls.Begin(ctx); err != nil {
		return ""
	}
	defer s.calls.End()
	return s.standbyCause(ctx, "")
}

// standbyCause returns [dibs.CauseStandby] if commits wait for a standby, and otherwise if not.
func (s *Store) standbyCause(ctx context.Context, otherwise dibs.Cause) dibs.Cause {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseTimeout)
	defer cancel()
	var waits bool
	err := s.use(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, s.sql.named("waits for standby")).Scan(&waits) })
	if err == nil && waits {
		return dibs.CauseStandby
	}
	return otherwise
}

// errNotReplicated is the error of a commit whose wait for a synchronous standby was
// cancelled, by an operator or by a timeout of the server. The server reports success with a
// warning, although the standby may never get the commit.
var errNotReplicated = errors.New("pgstore: the server has stopped waiting for its standby, and warns that a commit may not be replicated")

// warned marks a connection on which the server has sent a warning.
const warned = "dibs: warned"

// noteWarnings marks connections on which the server warns. The warning has no code of its
// own, and its text is in the server's language. So every warning without a code counts: the
// statements of this package cause no other.
func noteWarnings(cfg *pgx.ConnConfig) {
	next := cfg.OnNotice
	cfg.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.SeverityUnlocalized == "WARNING" && notice.Code == pgerrcode.Warning {
			conn.CustomData()[warned] = true
		}
		if next != nil {
			next(conn, notice)
		}
	}
}

// takeWarning returns errNotReplicated if the server has warned since the last call.
func takeWarning(conn *pgx.Conn) error {
	marks := conn.PgConn().CustomData()
	if marks[warned] == nil {
		return nil
	}
	delete(marks, warned)
	return errNotReplicated
}
