// Package pgstore keeps a registry of names in PostgreSQL.
//
//	store, err := pgstore.Open(ctx, "postgres://localhost/shop", pgstore.Config{})
//
// Any number of processes may use one database, each with its own writer and sweeper:
// revisions of rows decide between them (optimistic concurrency). A registry can also join a
// caller's transaction, see [WithTx]: then a row and its name are committed together.
//
// A Commit is one conditional transaction in one round trip, whatever the number of its
// groups. If its answer is lost, the store asks the database for the outcome.
//
// The tables are in a schema of their own. \d+ in psql, or schema.sql, describe them.
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
	queries
	cfg  Config
	pool *pgxpool.Pool

	failovers failovers
	batches   *batchIDs
	stamps    stamps
	clock     clock
	locked    lockedRecords
	feed      *feed

	calls inflight.Calls // the calls that Close waits for
}

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Pinger   = (*Store)(nil)
	_ dibs.Waker    = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ dibs.Parallel = (*Store)(nil)
)

// Writers returns how many batches the registry should commit at once.
func (s *Store) Writers() int { return s.cfg.Writers }

// Now estimates the database's clock.
func (s *Store) Now() (dibs.Instant, bool) {
	if s.cfg.ClockSQL != "" {
		return 0, false // a test moves it
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
