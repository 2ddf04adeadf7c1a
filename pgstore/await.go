package pgstore

import (
	"context"
	"errors"
	"slices"

	"github.com/calldibs/dibs"
)

var errUnderWay = errors.New("pgstore: another commit or transaction that decides the answer is still under way")

// Await tries to lock the rows, and unlocks them at once. A transaction that changes a row keeps
// it locked from before it reads the clock until its changes are visible, also while its COMMIT
// waits for a standby. Await polls instead of waiting in the database, so that waiting calls do
// not use up the connections.
func (s *Store) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	if _, limited := ctx.Deadline(); !limited {
		limit, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
		ctx = limit
	}
	return unavailable(untilIdle(ctx, func() (idle bool, err error) {
		err = s.retryRead(ctx, func() []call {
			idle = true
			// ROLLBACK: the COMMIT of a transaction that locked a row would wait for the standby.
			return slices.Concat([]call{{text: beginLock}}, awaitCalls(s.sql, refs, end, &idle), []call{{text: "ROLLBACK"}})
		})
		return idle, err
	}))
}

// beginLock sees the present rows, not those of a snapshot.
const beginLock = "BEGIN ISOLATION LEVEL READ COMMITTED"

// untilIdle polls until nothing is under way.
func untilIdle(ctx context.Context, poll func() (idle bool, err error)) error {
	for retry := newBackoff(); ; {
		if idle, err := poll(); err != nil || idle {
			return err
		}
		if err := retry.Wait(ctx); err != nil {
			return errors.Join(errUnderWay, err)
		}
	}
}

// awaitCalls returns the statements that clear idle while a transaction changes one of refs,
// or the clock has not reached end.
func awaitCalls(sql *statements, refs []dibs.Ref, end dibs.Instant, idle *bool) []call {
	var calls []call
	for part := range slices.Chunk(refs, maxRows) {
		calls = append(calls, call{text: sql.named("await"), args: append(loadArgs(part), int64(end)), scan: func(row scanner) error {
			var free bool
			err := row.Scan(&free)
			*idle = *idle && free
			return err
		}})
	}
	return calls
}

// Await locks the rows until the caller's transaction ends, so that no other transaction can
// change them. A read-only transaction cannot lock; since it has changed nothing, the store
// waits outside of it.
func (s *txStore) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	var readOnly string
	err := s.run(ctx, call{text: "SHOW transaction_read_only", scan: scanInto(&readOnly)})
	switch {
	case err != nil:
		return err
	case readOnly == "on":
		return s.store.Await(ctx, refs, end)
	}
	ctx, cancel := context.WithTimeout(ctx, s.store.cfg.Timeout)
	defer cancel()
	return unavailable(untilIdle(ctx, func() (bool, error) {
		idle := true
		err := s.run(ctx, awaitCalls(s.sql, refs, end, &idle)...)
		return idle, err
	}))
}
