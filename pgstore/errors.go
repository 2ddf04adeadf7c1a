package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs"
)

// The errors with which Open refuses a database, without changing it.
var (
	// ErrOldSchema is returned for a schema without all migrations if Config.NoMigrations is
	// set.
	ErrOldSchema = errors.New("pgstore: the schema is not up to date: run pgstore.Migrate with a role that may create tables, or open without NoMigrations")

	// ErrNewerSchema is returned for a schema of a newer version of Dibs.
	ErrNewerSchema = errors.New("pgstore: a newer version of Dibs has written this schema: update this program")

	// ErrEncoding is returned for a database that cannot hold every name.
	ErrEncoding = errors.New("pgstore: the database's encoding is not UTF8: create one WITH ENCODING 'UTF8' TEMPLATE template0")
)

// codeOf returns the SQLSTATE of a server's error, or "" for any other error.
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isStale reports whether an assertion ended the transaction, see [assertSQL].
func isStale(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == pgerrcode.InvalidTextRepresentation && strings.Contains(e.Message, staleMark)
}

// isLocked reports whether a lock was not granted in time.
func isLocked(err error) bool { return codeOf(err) == pgerrcode.LockNotAvailable }

// lostRace reports whether the server gave up a transaction in favour of another. The same
// transaction may succeed later.
func lostRace(err error) bool {
	code := codeOf(err)
	return code == pgerrcode.SerializationFailure || code == pgerrcode.DeadlockDetected
}

// refused reports whether the server answered with an error and keeps the session: then the
// transaction is undone. After a fatal error the transaction may have committed: a server
// that is shut down while it waits for its standby has committed already.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized == "ERROR"
}

// isInvalid reports whether the server refuses the data: a value that it cannot hold, or one
// that violates a constraint.
func isInvalid(err error) bool {
	code := codeOf(err)
	return pgerrcode.IsDataException(code) || pgerrcode.IsIntegrityConstraintViolation(code)
}

// unavailable classifies an error of a call that changed nothing. It does not change an error
// that is classified already.
func unavailable(err error) error {
	if _, classified := errors.AsType[*dibs.Error](err); err == nil || classified || errors.Is(err, dibs.ErrBadCursor) {
		return err
	}
	return dibs.Unavailable(withHint(err)).Because(causeOf(err))
}

// connectError classifies an error of the first connection. A login or a database that is refused is
// a mistake in the address, which does not go away by itself.
func connectError(err error) error {
	if code := codeOf(err); code != pgerrcode.InvalidCatalogName && !pgerrcode.IsInvalidAuthorizationSpecification(code) {
		return unavailable(err)
	}
	refused := dibs.Unavailable(err)
	refused.Message = "check the role, its password and the database in the address"
	return refused.Because(causeOf(err))
}

var errPooled = errors.New("a pooler seems to assign sessions to transactions: set TransactionPooling, or add dibs_pooling=transaction to the address of the store")

// withHint explains an error about prepared statements, which stay in their session.
func withHint(err error) error {
	if code := codeOf(err); code == pgerrcode.InvalidSQLStatementName || code == pgerrcode.DuplicatePreparedStatement {
		return fmt.Errorf("%w (%w)", errPooled, err)
	}
	return err
}

// causes are the causes of errors that the server reports.
var causes = map[string]dibs.Cause{
	pgerrcode.DiskFull:               dibs.CauseDiskFull,
	pgerrcode.IOError:                dibs.CauseDiskFails,
	pgerrcode.ReadOnlySQLTransaction: dibs.CauseReadOnly,
	pgerrcode.TooManyConnections:     dibs.CauseConnections,
	pgerrcode.QueryCanceled:          dibs.CauseTooSlow,
	pgerrcode.AdminShutdown:          dibs.CauseNoAnswer,
	pgerrcode.CrashShutdown:          dibs.CauseNoAnswer,
	pgerrcode.CannotConnectNow:       dibs.CauseNoAnswer,
}

// causeOf returns the cause of an error, or "" if it is not known. An error that is not an answer
// of the server means that the server did not answer.
func causeOf(err error) dibs.Cause {
	code := codeOf(err)
	switch {
	case pgerrcode.IsInvalidAuthorizationSpecification(code):
		return dibs.CauseLogin
	case causes[code] != "":
		return causes[code]
	case errors.Is(err, errNotReplicated):
		return dibs.CauseStandby
	case code != "", errors.Is(err, context.Canceled), errors.Is(err, errUnderWay):
		return ""
	}
	return dibs.CauseNoAnswer
}

var (
	errTxFailed = errors.New("an earlier statement has failed: roll the transaction back")
	errTxOver   = errors.New("the transaction has ended: use the registry itself, or WithTx with another transaction")
)

// txError classifies an error inside the caller's transaction.
func txError(err error) error {
	switch code := codeOf(err); {
	case err == nil:
		return nil
	case lostRace(err), isLocked(err):
		return fmt.Errorf("%w (%w)", dibs.ErrRetryTx, err)
	case code == pgerrcode.InFailedSQLTransaction:
		return dibs.Unavailable(fmt.Errorf("%w (%w)", errTxFailed, err))
	case errors.Is(err, pgx.ErrTxClosed), errors.Is(err, sql.ErrTxDone):
		return dibs.Unavailable(fmt.Errorf("%w (%w)", errTxOver, err))
	case code == pgerrcode.UndefinedTable, code == pgerrcode.InvalidSchemaName:
		return fmt.Errorf("%w: the transaction is not on the registry's database: %w", dibs.ErrUnsupported, err)
	}
	return unavailable(err)
}
