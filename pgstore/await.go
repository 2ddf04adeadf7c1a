package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

var errUnderWay = errors.New("pgstore: a commit or a transaction of somebody else that decides the answer is still under way")

// Await tries to lock the rows, and lets go of them at once. A transaction that changes one
// has it locked from before it looks at the clock until others see what it did: also while
// its COMMIT waits for a standby.
//
// It asks again and again instead of waiting in the database: a transaction that takes its
// time is not to use up the connections.
func (s *Store) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
	}
	return unavailable(untilIdle(ctx, func() (idle bool, err error) {
		err = s.readAgain(ctx, func() []call {
			idle = true
			// ROLLBACK: a COMMIT that has locked a row would wait for the standby, too.
			return slices.Concat([]call{{text: beginLock}}, awaitCalls(s.sql, refs, end, &idle), []call{{text: "ROLLBACK"}})
		})
		return idle, err
	}))
}

// beginLock sees rows as they are now, and not as they were in a snapshot.
const beginLock = "BEGIN ISOLATION LEVEL READ COMMITTED"

// untilIdle asks until nothing is under way.
func untilIdle(ctx context.Context, ask func() (idle bool, err error)) error {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		if idle, err := ask(); err != nil || idle {
			return err
		}
		if err := pause(ctx, jitter(wait)); err != nil {
			return errors.Join(errUnderWay, err)
		}
	}
}

// awaitCalls returns the statements that find out whether nobody is changing refs, and
// whether the clock has come to end.
func awaitCalls(sql *statements, refs []dibs.Ref, end dibs.Instant, idle *bool) []call {
	var calls []call
	for part := range slices.Chunk(refs, maxRows) {
		calls = append(calls, call{text: sql.await, args: append(loadArgs(part), int64(end)), scan: func(row scanner) error {
			var free bool
			err := row.Scan(&free)
			*idle = *idle && free
			return err
		}})
	}
	return calls
}

// awaitText compares how many of the rows there are with how many could be locked.
func (s *statements) awaitText() string {
	names := s.table("dibs_names") + " t WHERE t.id = ANY ($1::uuid[])"
	entities := s.table("dibs_entities") + " t WHERE t.id = ANY ($2::uuid[])"
	documents := s.table("dibs_documents") + " t WHERE (t.kind, t.id) IN (SELECT * FROM unnest($3::text[], $4::uuid[]))"
	lock := func(rows string) string { return "(SELECT 1 FROM " + rows + " FOR SHARE OF t SKIP LOCKED)" }
	count := func(rows string) string { return "(SELECT count(*) FROM " + rows + ")" }
	return fmt.Sprintf(`WITH n AS MATERIALIZED %s, e AS MATERIALIZED %s, d AS MATERIALIZED %s
		SELECT %s + %s + %s = %s + %s + %s AND %s >= $5::bigint`,
		lock(names), lock(entities), lock(documents),
		count("n"), count("e"), count("d"), count(names), count(entities), count(documents), s.clock)
}

// Await locks the rows until the end of the caller's transaction: nobody else's change of
// them can be under way then, or begin. A transaction that may change nothing may lock
// nothing either, and has changed nothing: the store waits for it.
func (s *txStore) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	var readOnly string
	err := s.run(ctx, call{text: "SHOW transaction_read_only", scan: func(row scanner) error { return row.Scan(&readOnly) }})
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
		err := s.run(ctx, awaitCalls(s.store.sql, refs, end, &idle)...)
		return idle, err
	}))
}
