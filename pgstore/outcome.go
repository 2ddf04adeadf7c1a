package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// batchIDs makes the ids of transactions: eight random bytes for the process, and a number. So
// the batches of one process are adjacent in their index, and apart from those of others.
type batchIDs struct {
	prefix [8]byte
	last   atomic.Uint64
}

func newBatchIDs() *batchIDs {
	var ids batchIDs
	_, _ = rand.Read(ids.prefix[:]) // never fails
	return &ids
}

func (b *batchIDs) next() (id uuid) {
	copy(id[:], b.prefix[:])
	binary.BigEndian.PutUint64(id[8:], b.last.Add(1))
	return id
}

// findOutcome reports whether a transaction committed whose answer was lost. Its answer is final:
// if the batch is absent, a void batch takes its id, so that a transaction under way can never
// commit.
//
// It always writes, since the answer to a commit proves that all earlier commits are safe too,
// also on a standby for which the lost answer may have waited.
func (s *Store) findOutcome(ctx context.Context, t *transaction) (committed bool, err error) {
	// The transaction may have used up the caller's time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	changes := t.general
	if changes == nil {
		changes = &t.newNames.changes
	}
	var live int64
	for retry := newBackoff(); ; {
		err = s.use(ctx, func(conn *pgx.Conn) error {
			return pipeline(ctx, conn, call{
				text: s.sql.named("outcome"), args: []any{changes.batch, changes.stamp}, scan: scanInto(&live),
			})
		})
		if err == nil {
			break
		}
		if retry.Wait(ctx) != nil {
			return false, err
		}
	}
	if live >= 0 && t.newNames != nil {
		err = s.readInserted(ctx, t.newNames)
	}
	return live >= 0, err
}

// readInserted reads which new names a transaction has inserted: those with events.
func (s *Store) readInserted(ctx context.Context, n *newNames) error {
	return s.retryRead(ctx, func() []call {
		n.inserted = make(map[uuid]bool)
		return []call{{text: s.sql.named("names in batch"), args: []any{n.batch}, scan: func(row scanner) error {
			var name uuid
			err := row.Scan(&name)
			n.inserted[name] = true
			return err
		}}}
	})
}
