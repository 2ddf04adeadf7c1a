package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// batchIDs makes the names of transactions: eight random bytes, which no other process
// has, and a number. So the batches of a process lie side by side, and its events
// fill one page of their index after another; those of many processes lie apart.
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

// settle finds out what became of a transaction whose answer was lost, and sees to
// it that this stays so: if its batch is not there, a void one takes its place, and
// the transaction, should it still be under way somewhere, can never commit.
//
// It always writes: a commit that is answered tells that all before it is safe too,
// also on a standby that the lost answer may have been waiting for.
func (s *Store) settle(ctx context.Context, t *transaction) (done bool, err error) {
	// A time of its own: the transaction may have used up all that it had.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	batch, stamp := t.witness()
	var live int64
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err = s.use(ctx, func(conn *pgx.Conn) error {
			return pipeline(ctx, conn, call{
				text: s.sql.feed.settle, args: []any{batch, stamp},
				scan: func(row scanner) error { return row.Scan(&live) },
			})
		})
		if err == nil {
			break
		}
		if pause(ctx, jitter(wait)) != nil {
			return false, err
		}
	}
	if live < 0 {
		return false, nil
	}
	return true, s.recall(ctx, t)
}

// witness is the batch that tells whether the transaction has happened.
func (t *transaction) witness() (batch uuid, stamp int64) {
	if t.whole != nil {
		return t.whole.batch, t.whole.stamp
	}
	return t.fresh.batch, t.fresh.stamp
}

// recall reads which of the fresh groups a transaction has committed: those whose
// events are there.
func (s *Store) recall(ctx context.Context, t *transaction) error {
	if t.fresh == nil {
		return nil
	}
	return s.readAgain(ctx, func() []call {
		t.fresh.inserted = make(map[uuid]bool)
		return []call{{text: s.sql.feed.told, args: []any{t.fresh.batch}, scan: func(row scanner) error {
			var name uuid
			if err := row.Scan(&name); err != nil {
				return err
			}
			t.fresh.inserted[name] = true
			return nil
		}}}
	})
}
