package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

var _ dibs.Scrubber = (*Store)(nil)

var (
	vacuum = newStatement("VACUUM")
	// truncateLog brings everything from the log into the file, and empties the log.
	truncateLog = newStatement("PRAGMA wal_checkpoint(TRUNCATE)")
)

var errBeingRead = errors.New("the log cannot be emptied while others read the file: try again")

// Scrub writes the file anew, without what was deleted or changed: SQLite only marks the
// room of that as free. It takes as long as copying the file, as much room on disk for a
// while, and nobody else writes meanwhile.
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
		row, err := readRow(ctx, conn, truncateLog)
		switch {
		case err != nil && !isBusy(err):
			return unavailable(err)
		case err == nil && asInt(row[0]) == 0:
			return nil
		case time.Now().After(deadline):
			return unavailable(errBeingRead)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
