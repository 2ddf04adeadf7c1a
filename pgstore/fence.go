package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

var _ record.Fencer = (*Store)(nil)

// The fence is a constraint that no new batch fulfils, and every commit inserts one, also in a
// caller's transaction. To add it takes a lock on the table, which the server grants when all
// transactions that have inserted a batch are over. Without a fence a commit pays nothing.
const fenceConstraint = "dibs_moved"

// Fence makes every later Commit fail. The role must own the tables. Transactions that keep one
// of the store's rows locked delay it until the context ends, and it delays commits for at most
// [Config.LockWait] at a time.
func (s *Store) Fence(ctx context.Context, place string) error {
	fence := record.NewFence(place)
	return s.changeFence(ctx, func() []call {
		return []call{
			{text: beginLock}, // it must see the commits that it waits for
			// In the order of number, which would else wait for this transaction and this one for it.
			{text: s.sql.named("lock head")},
			{text: s.sql.named("drop fence")},
			{text: s.sql.named("add fence")},
			{text: s.sql.named("put fence"), args: []any{string(fence.Kind), uuid(fence.ID), fence.Label, fence.Data}},
			// Later, the constraint would refuse to look up the outcome of a batch without a number.
			{text: s.sql.named("number"), args: []any{math.MaxInt32}},
			{text: "COMMIT"},
		}
	})
}

// Unfence allows commits again.
func (s *Store) Unfence(ctx context.Context) error {
	return s.changeFence(ctx, func() []call {
		return []call{
			{text: "BEGIN"},
			{text: s.sql.named("drop fence")},
			{text: s.sql.named("remove fence"), args: []any{string(record.FenceRef.Kind), uuid(record.FenceRef.ID)}},
			{text: "COMMIT"},
		}
	})
}

// cursorGap is how far behind the last cursor of another store ContinueAfter begins: further than
// that store gets while it is copied.
const cursorGap = 1 << 32

// ContinueAfter numbers later events far behind a cursor of another schema, of which this empty one
// becomes a copy. A reader with any cursor of that schema then gets all events here.
func (s *Store) ContinueAfter(ctx context.Context, cursor dibs.Cursor) error {
	at, err := parseCursor(cursor)
	if err != nil {
		return err
	}
	return s.changeFence(ctx, func() []call {
		return []call{{text: s.sql.named("continue feed"), args: []any{at.seq + cursorGap}}}
	})
}

// changeFence runs a transaction that changes the fence until it succeeds. All of them can run
// twice.
func (s *Store) changeFence(ctx context.Context, calls func() []call) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	err := s.retry(ctx, calls, func(err error) bool { return refused(err) && !lostRace(err) && !isLocked(err) })
	if codeOf(err) == pgerrcode.InsufficientPrivilege {
		err = fmt.Errorf("the role must own the tables to fence them: connect as their owner: %w", err)
	}
	return unavailable(err)
}

// isFenced reports whether the fence refused a commit.
func isFenced(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == pgerrcode.CheckViolation && e.ConstraintName == fenceConstraint
}

// moved returns the error of a commit that the fence refused.
func (s *Store) moved(ctx context.Context) error {
	var l loading
	if err := s.retryRead(ctx, func() []call {
		l = loading{}
		return l.calls(s.sql, []dibs.Ref{record.FenceRef})
	}); err != nil {
		return unavailable(err)
	}
	if len(l.records) == 0 {
		return dibs.Unavailable(errors.New("the fence was lifted a moment ago"))
	}
	return record.Moved(record.Place(l.records[0]))
}
