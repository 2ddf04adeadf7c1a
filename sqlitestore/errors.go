package sqlitestore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/calldibs/dibs"
)

// The errors with which Open refuses a file, without changing it.
var (
	// ErrNotDatabase is returned for a file that is not an SQLite database.
	ErrNotDatabase = errors.New("sqlitestore: the file is not an SQLite database: give the path of a new file, or of one that Dibs made")

	// ErrForeignDatabase is returned for an SQLite database of another program.
	ErrForeignDatabase = errors.New("sqlitestore: the database has tables, but none of Dibs: give another path, or set Config.Shared to put the tables of Dibs beside them")

	// ErrDamaged is returned for a file that a disk, a crash or another program has damaged, and
	// by reads of a damaged record. Restore a backup.
	ErrDamaged = errors.New("sqlitestore: the file is damaged: restore a backup")

	// ErrNewerSchema is returned for a database of a newer version of Dibs.
	ErrNewerSchema = errors.New("sqlitestore: a newer version of Dibs has written this database: update this program")
)

// ErrOldWAL is returned by Create and Backup if there is a log beside the path of a new file, from an
// earlier file there. SQLite would write its pages over the new file.
var ErrOldWAL = errors.New("sqlitestore: a log of an earlier file lies beside the new one: remove it, unless a process uses it")

const codeError = sqlite3.SQLITE_ERROR

// primaryCode returns SQLite's result code without its extension, or 0 for any other error.
func primaryCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// errCheckpointBusy is what a busy checkpoint reports, by a row and not by a code.
var errCheckpointBusy = errors.New("another connection is in a checkpoint")

func isBusy(err error) bool {
	code := primaryCode(err)
	return errors.Is(err, errCheckpointBusy) || code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// unavailable classifies an error of a call that changed nothing. It does not change an error
// that is classified already.
func unavailable(err error) error {
	if _, classified := errors.AsType[*dibs.Error](err); err == nil || classified || errors.Is(err, dibs.ErrBadCursor) {
		return err
	}
	if errors.Is(err, ErrDamaged) || isTwice(err) {
		return dibs.Unavailable(err).Because(dibs.CauseDamaged)
	}
	if isFull(err) {
		return dibs.Unavailable(errFull).Because(dibs.CauseDiskFull)
	}
	return dibs.Unavailable(err).Because(causeOf(err))
}

// causeOf returns the cause of an error; empty if it is not known.
func causeOf(err error) dibs.Cause {
	if isFull(err) {
		return dibs.CauseDiskFull
	}
	return causes[primaryCode(err)]
}

// isFull reports whether the disk is full. Then the file of shared memory cannot grow either, which
// SQLite reports as an I/O error.
func isFull(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// isTwice reports whether a row is there already. A commit has looked, so an index has lost it.
func isTwice(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID}, e.Code())
}

// errFull replaces the text of an error for which [isFull] holds, which may be that of a broken disk.
var errFull = errors.New("the disk of the SQLite file is full")

// causes are the causes of errors by their primary code. Other errors have none.
var causes = map[int]dibs.Cause{
	sqlite3.SQLITE_IOERR:    dibs.CauseDiskFails,
	sqlite3.SQLITE_READONLY: dibs.CauseReadOnly,
	sqlite3.SQLITE_PERM:     dibs.CauseReadOnly,
	sqlite3.SQLITE_BUSY:     dibs.CauseLocked,
	sqlite3.SQLITE_LOCKED:   dibs.CauseLocked,
	sqlite3.SQLITE_CANTOPEN: dibs.CauseNoAnswer,
	sqlite3.SQLITE_CORRUPT:  dibs.CauseDamaged,
	sqlite3.SQLITE_NOTADB:   dibs.CauseDamaged,
}

// commitError classifies an error of COMMIT itself.
//
// SQLite appends the pages of the transaction to the WAL, the page with the commit mark last,
// then syncs, then makes them visible. Busy means that it did not begin. Full means that a page
// could not be written, so the mark is missing. After any other failure, such as one of the
// sync, the mark may be in the file: it has no effect while the file is open, but recovery after
// a crash would find it.
func commitError(err error) error {
	switch primaryCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT:
		return unavailable(err)
	}
	return dibs.OutcomeUnknown(err).Because(causeOf(err))
}

// errTxOver is returned after SQLite has rolled the transaction back by itself.
var errTxOver = fmt.Errorf("%w: SQLite has rolled it back already", dibs.ErrRetryTx)

// txError classifies an error inside the caller's transaction.
func txError(err error) error {
	switch {
	case isBusy(err):
		return fmt.Errorf("%w (%w)", dibs.ErrRetryTx, err)
	case err != nil && strings.Contains(err.Error(), "no such table: dibs_"):
		return fmt.Errorf("%w: the transaction is not on the registry's file: %w", dibs.ErrUnsupported, err)
	}
	return unavailable(err)
}

func errCannotOpen(path string, err error) error {
	return fmt.Errorf("sqlitestore: cannot open %q: check that its folder exists and that this process may read and write in it: %w", path, err)
}

// openError adds the path and what to do to an error of Open.
func openError(path string, err error) error {
	if isFull(err) {
		return fmt.Errorf("sqlitestore: cannot open %q, not even to read: its disk is full: free some space there: %w", path, unavailable(err))
	}
	switch primaryCode(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %q", ErrNotDatabase, path)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %q: %w", ErrDamaged, path, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("sqlitestore: cannot write to %q: make the file and its folder writable for this process: %w", path, err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return errCannotOpen(path, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("sqlitestore: %q is locked by another process: end its transaction, or raise Config.BusyTimeout: %w", path, err)
	}
	for _, known := range []error{ErrForeignDatabase, ErrNewerSchema, ErrNotDatabase, ErrDamaged} {
		if errors.Is(err, known) {
			return fmt.Errorf("%w: %q", err, path)
		}
	}
	return fmt.Errorf("sqlitestore: open %q: %w", path, err)
}
