package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

// Commit commits groups in one transaction.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	if len(groups) == 0 {
		return nil, nil
	}
	conn, err := s.writer.take(ctx)
	if err != nil {
		return nil, dibs.Unavailable(err)
	}
	defer s.writer.put(conn)
	// The rest must not be interrupted: the outcome would be unknown.
	caller, ctx := ctx, context.WithoutCancel(ctx)
	if err := conn.begin(ctx, s.busyTimeout); err != nil {
		return nil, unavailable(err)
	}
	if err := caller.Err(); err != nil { // the context ended while the writer was busy
		conn.rollback()
		return nil, dibs.Unavailable(err)
	}
	// If Config.Now panics, the connection must not keep the write lock.
	finished := false
	defer func() {
		if !finished {
			_ = conn.close()
		}
	}()
	var known *filter
	if s.creation != nil {
		known = s.creation.known
		err = s.creation.expect(conn, groups)
	}
	var outcomes []dibs.Outcome
	written := false
	if err == nil {
		outcomes, written, err = apply(ctx, conn, s.instant, groups, known)
	}
	finished = true
	if err != nil || !written {
		conn.rollback()
		return outcomes, unavailable(asMoved(ctx, conn, err))
	}
	if err := conn.exec(ctx, commitTx); err != nil {
		conn.rollback()
		return nil, commitError(err)
	}
	if s.checkpoints != nil {
		s.checkpoints.committed()
	}
	return outcomes, nil
}

// recordKey identifies a record.
type recordKey struct {
	kind dibs.Kind
	id   dibs.ID
}

// present is the present state of a record: its revision, and of a name its number and its
// last event.
type present struct {
	rev               uint64
	number, lastEvent int64
	written           bool // in this commit
}

// stored is what a commit finds in the file: the records that its groups have read, and the
// highest numbers that names and events ever had. The transaction has the write lock, so no other
// one changes them.
type stored struct {
	records             map[recordKey]present
	lastName, lastEvent int64
}

// apply checks every group and writes those that are not stale. The transaction has the write
// lock, so the checks stay true. The filter, if there is one, knows all records of the file.
func apply(ctx context.Context, run runner, now func() dibs.Instant, groups []dibs.Group, known *filter) (outcomes []dibs.Outcome, written bool, err error) {
	found, err := findStored(ctx, run, groups, known)
	if err != nil {
		return nil, false, err
	}
	outcomes = make([]dibs.Outcome, len(groups))
	todo := changes{stored: found, counts: make(map[dibs.NameCount]int)}
	at := now()
	for i := range groups {
		g := &groups[i]
		changed := func(r dibs.Read) bool { return found.records[recordKey{r.Ref.Kind, r.Ref.ID}].rev != r.Rev }
		if !g.Window.Contains(at) || slices.ContainsFunc(g.Reads, changed) {
			continue
		}
		outcomes[i] = dibs.Committed
		written = true
		if err := todo.add(g); err != nil {
			return nil, false, err
		}
		known.addAll(g.Writes)
	}
	if !written {
		return outcomes, false, nil
	}
	return outcomes, true, todo.write(ctx, run)
}

// selectStored finds names, one document, and the ends, in one statement: every statement
// costs a lone command a tenth of its commit.
var selectStored = newBatch(func(n int) string {
	return `SELECT 'name', id, rev, n, last_event FROM dibs_names WHERE id IN (` + params(n) + `)
		UNION ALL SELECT kind, id, rev, NULL, NULL FROM dibs_documents WHERE kind = ? AND id = ?
		UNION ALL SELECT NULL, NULL, NULL,
			max(coalesce((SELECT max(n) FROM dibs_names), 0), coalesce((SELECT n FROM dibs_ends), 0)),
			max(coalesce((SELECT max(seq) FROM dibs_events), 0), coalesce((SELECT seq FROM dibs_ends), 0))`
})

// findStored reads each record once, however many groups have read it. Absent ones have
// revision 0.
func findStored(ctx context.Context, run runner, groups []dibs.Group, known *filter) (found stored, err error) {
	var ids idsByKind
	found.records = make(map[recordKey]present, 2*len(groups))
	for i := range groups {
		for j := range groups[i].Reads {
			ref := &groups[i].Reads[j].Ref
			key := recordKey{ref.Kind, ref.ID}
			if _, listed := found.records[key]; !listed {
				found.records[key] = present{}
				if known.mayHave(ref.ID) {
					ids.add(ref.Kind, ref.ID)
				}
			}
		}
	}
	names := ids.take(func(kind dibs.Kind, _ int) bool { return kind == dibs.KindName })
	document := ids.take(func(kind dibs.Kind, n int) bool { return tableOf(kind) == documents && n == 1 })
	if len(names.ids) == 0 {
		names.ids = []dibs.ID{{}} // the ends are read in any case
	}
	var one dibs.ID
	if len(document.ids) == 1 {
		one = document.ids[0]
	}
	err = selectStored.each(names.ids, []any{string(document.kind), one[:]}, func(st *statement, args []any) error {
		return run.query(ctx, st, args, func(row []driver.Value) error {
			if row[0] == nil {
				found.lastName, found.lastEvent = asInt(row[3]), asInt(row[4])
				return nil
			}
			id, rev, err := asVersion(row[1], row[2])
			found.records[recordKey{dibs.Kind(asText(row[0])), id}] = present{rev: rev, number: asInt(row[3]), lastEvent: asInt(row[4])}
			return err
		})
	})
	if err != nil {
		return found, err
	}
	err = ids.each(func(t *table) *batch { return t.revs }, func(kind dibs.Kind, st *statement, args []any) error {
		return run.query(ctx, st, args, func(row []driver.Value) error {
			id, rev, err := asVersion(row[0], row[1])
			found.records[recordKey{kind, id}] = present{rev: rev}
			return err
		})
	})
	return found, err
}

// Await takes SQLite's write lock for a moment. A Commit, in any process, holds it from
// before it reads the clock until its changes are visible.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	ctx, cancel := context.WithTimeout(ctx, s.busyTimeout)
	defer cancel()
	for {
		err := s.tryLock(ctx)
		switch {
		case err == nil && s.instant() >= end:
			return nil
		case err != nil && !isBusy(err):
			return unavailable(err)
		}
		if err := backoff.Sleep(ctx, awaitPause); err != nil {
			return unavailable(err)
		}
	}
}

// awaitPause is the pause between two attempts, in which others may take the lock.
const awaitPause = time.Millisecond

// tryLock takes the write lock for a moment.
func (s *Store) tryLock(ctx context.Context) error {
	conn, err := s.writer.take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.put(conn)
	// Not under ctx: an interrupted connection would lose its cache.
	if err := conn.begin(context.WithoutCancel(ctx), 0); err != nil {
		return err
	}
	conn.rollback()
	return nil
}

// Await takes the write lock for the caller's transaction. It fails if another transaction has
// committed since this one began to read; then the caller must run it again.
func (s *txStore) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	return s.read(ctx, func(run runner) error {
		err := run.exec(ctx, takeLock)
		for err == nil && s.instant() < end {
			err = backoff.Sleep(ctx, awaitPause)
		}
		return err
	})
}
