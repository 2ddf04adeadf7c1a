package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

// Backup copies the store, as of one moment, into a new file. Reads and writes go on
// meanwhile, in any process, and the WAL stays small: see [copier]. The file appears under its
// name only when it is complete and on disk, and only its owner may read and write it. Backup
// does not touch an existing file: the error then matches [fs.ErrExist], or [ErrOldWAL] for a log
// beside path.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := mustBeNew(path); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return fmt.Errorf("sqlitestore: cannot write the backup: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }()
	err = s.copyInto(ctx, part)
	if failed, ok := errors.AsType[*dibs.Error](err); ok && failed.Cause == dibs.CauseDiskFull {
		err = fmt.Errorf("the disk of the store is full, not that of the backup: free some space there first: %w", err)
		return errors.Join(err, part.Close())
	}
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return fmt.Errorf("sqlitestore: cannot write the backup: %w", err)
	}
	if err := linkNew(part.Name(), path); err != nil {
		return fmt.Errorf("sqlitestore: cannot write the backup: %w", err)
	}
	return nil
}

var _ dibs.Scrubber = (*Store)(nil)

var (
	vacuum = newStatement("VACUUM")
	// truncateWAL moves everything from the WAL into the file, and empties the WAL.
	truncateWAL = newStatement("PRAGMA wal_checkpoint(TRUNCATE)")
)

var errBeingRead = errors.New("the WAL cannot be emptied while another connection reads the file: try again")

// Scrub rewrites the file without deleted and replaced data, whose space SQLite only marks as
// free. It takes as long as a copy of the file, needs as much space on disk, and blocks other
// writers meanwhile.
func (s *Store) Scrub(ctx context.Context) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	conn, err := s.writer.take(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer s.writer.put(conn)
	deadline := time.Now().Add(s.busyTimeout)
	for vacuumed := false; ; {
		if !vacuumed {
			err = conn.exec(ctx, vacuum)
			vacuumed = err == nil
		}
		var row []driver.Value
		if err == nil {
			row, err = readRow(ctx, conn, truncateWAL)
		}
		switch {
		case err == nil && asInt(row[0]) == 0:
			return nil
		case err != nil && (!isBusy(err) || time.Now().After(deadline)):
			return unavailable(err)
		case time.Now().After(deadline):
			return unavailable(errBeingRead)
		}
		if err := backoff.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}
