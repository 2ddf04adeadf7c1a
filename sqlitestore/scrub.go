package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

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
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	conn, err := s.writer.acquire(ctx)
	if err != nil {
		return unavailable(err)
	}
	if err := conn.exec(ctx, vacuum); err != nil {
		return unavailable(err)
	}
	for deadline := time.Now().Add(s.writer.wait); ; {
		row, err := readRow(ctx, conn, truncateWAL)
		switch {
		case err != nil && !isBusy(err):
			return unavailable(err)
		case err == nil && asInt(row[0]) == 0:
			return nil
		case time.Now().After(deadline):
			return unavailable(errBeingRead)
		}
		if err := backoff.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}
