// Package sqlitestore keeps a registry of names in one SQLite file.
//
//	store, err := sqlitestore.Open(ctx, "names.db", sqlitestore.Config{})
//
// It is the engine for programs that carry their registry with them: no server,
// no cgo, several processes on one machine may share the file. What is
// acknowledged is on disk: the file runs in WAL mode with synchronous=FULL.
//
// SQLite has one writer at a time. The store holds one connection that writes,
// where every Commit is one transaction whatever the number of its groups, and a
// few that read beside it.
//
// The tables are meant to be looked at with the sqlite3 shell; the files in
// migrations describe them. Write to them with a shell older than SQLite 3.51.3
// never: those can damage a live file in WAL mode.
package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/inflight"
)

// Store is a [dibs.Store] on one SQLite file. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	calls inflight.Calls // Close waits for them

	writer  *writer
	readers *readers
}

var (
	_ dibs.Store  = (*Store)(nil)
	_ dibs.Pinger = (*Store)(nil)
	_ dibs.Clock  = (*Store)(nil)
)

func (s *Store) instant() dibs.Instant { return dibs.InstantOf(s.now()) }

// Now returns the engine's time, which is that of the machine.
func (s *Store) Now() (dibs.Instant, bool) { return s.instant(), true }

// Ping reads from the file.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(run runner) error {
		_, err := schemaVersion(ctx, run)
		return err
	})
}

// read runs fn on a reading connection. Unless fn asks for one statement only,
// it wraps itself in [snapshot].
func (s *Store) read(ctx context.Context, fn func(runner) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	return unavailable(s.readers.use(ctx, fn))
}

// Close waits for the calls under way and closes the file. All later calls
// return UNAVAILABLE, caused by [dibs.ErrClosed]. Closing twice is allowed.
func (s *Store) Close() error {
	return s.calls.Close(func() error {
		// The writer last: the last connection to go folds the WAL into the file.
		err := s.readers.close()
		return unavailable(errors.Join(err, s.writer.close()))
	})
}
