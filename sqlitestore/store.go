// Package sqlitestore keeps a registry of names in one SQLite file.
//
//	store, err := sqlitestore.Open(ctx, "names.db", sqlitestore.Config{})
//
// It is the engine for programs that embed their registry: no server, no cgo, and several
// processes on one machine may share the file. An acknowledged commit is on disk: the file is in
// WAL mode with synchronous=FULL.
//
// SQLite has one writer at a time. The store has one connection that writes, on which every
// Commit is one transaction whatever the number of its groups, and a few that read.
//
// The tables can be read with the sqlite3 shell; schema.sql describes them. Never
// write to them with a shell older than SQLite 3.51.3: it can damage a WAL file that is in use.
package sqlitestore

import (
	"context"
	"errors"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/inflight"
)

// Store is a [dibs.Store] on one SQLite file. It is safe for concurrent use.
type Store struct {
	queries
	calls inflight.Calls // the calls that Close waits for

	writer  *writer
	readers *readers
}

var (
	_ dibs.Store  = (*Store)(nil)
	_ dibs.Pinger = (*Store)(nil)
	_ dibs.Clock  = (*Store)(nil)
)

// Now returns the engine's time, which is that of the machine.
func (s *Store) Now() (dibs.Instant, bool) { return s.instant(), true }

// Ping reads from the file.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(run runner) error {
		_, err := schemaVersion(ctx, run)
		return err
	})
}

// readConn runs fn on a connection that reads. If fn runs several statements, it uses
// [snapshot].
func (s *Store) readConn(ctx context.Context, fn func(runner) error) error {
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
		// The writer last: the last connection that closes moves the WAL into the file.
		err := s.readers.close()
		return unavailable(errors.Join(err, s.writer.close()))
	})
}
