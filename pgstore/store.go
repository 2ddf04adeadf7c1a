// Package pgstore keeps a registry of names in PostgreSQL.
//
//	store, err := pgstore.Open(ctx, "postgres://localhost/shop", pgstore.Config{})
//
// Any number of processes may work on one database, each with its own writer and
// sweeper: rows and their revisions decide. A registry can also join a transaction
// of the caller's own, see [WithTx]: a row and its name then come and go together.
//
// A Commit is one conditional transaction in one round trip, whatever the number
// of its groups. A commit whose answer is lost is looked up, not guessed.
//
// The tables are in a schema of their own and describe themselves: \d+ in psql, or
// the files in migrations.
package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/inflight"
)

// Store is a [dibs.Store] on a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	cfg  Config
	pool *pgxpool.Pool
	sql  *statements

	server  server
	batches *batchIDs
	stamps  stamps
	clock   clock
	busy    busyNames
	feed    *feed

	calls inflight.Calls // Close waits for them
}

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Pinger   = (*Store)(nil)
	_ dibs.Waker    = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ dibs.Parallel = (*Store)(nil)
)

// Writers is how many batches are best under way at once.
func (s *Store) Writers() int { return s.cfg.Writers }

// Now estimates the database's clock.
func (s *Store) Now() (dibs.Instant, bool) {
	if s.cfg.ClockSQL != "" {
		return 0, false // nobody knows how that one moves
	}
	return s.clock.estimate(time.Now())
}

// Ping asks the database for the time.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Load(ctx, nil)
	return err
}

// Close waits for the calls under way and closes the connections. All later calls
// return UNAVAILABLE, caused by [dibs.ErrClosed]. Closing twice is allowed.
func (s *Store) Close() error {
	return s.calls.Close(func() error {
		s.feed.close()
		s.pool.Close()
		return nil
	})
}
