package sqlitestore

import (
	"context"
	"database/sql/driver"
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
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	// The rest must not be interrupted: the outcome would be unknown.
	caller, ctx := ctx, context.WithoutCancel(ctx)
	conn, err := s.writer.begin(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if err := caller.Err(); err != nil { // the context ended while the writer was busy
		s.writer.rollback()
		return nil, dibs.Unavailable(err)
	}
	// If Config.Now panics, the connection must not keep the write lock.
	finished := false
	defer func() {
		if !finished {
			s.writer.discard()
		}
	}()
	outcomes, written, err := apply(ctx, conn, s.instant, groups)
	finished = true
	if err != nil || !written {
		s.writer.rollback()
		return outcomes, unavailable(err)
	}
	if err := conn.exec(ctx, commitTx); err != nil {
		s.writer.rollback()
		return nil, commitError(err)
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
}

// apply checks every group and writes those that are not stale. The transaction has the write
// lock, so the checks stay true.
func apply(ctx context.Context, run runner, now func() dibs.Instant, groups []dibs.Group) (outcomes []dibs.Outcome, written bool, err error) {
	revs, err := revisions(ctx, run, groups)
	if err != nil {
		return nil, false, err
	}
	outcomes = make([]dibs.Outcome, len(groups))
	todo := changes{present: revs}
	at := now()
	for i := range groups {
		g := &groups[i]
		if !g.Window.Contains(at) || !unchanged(g.Reads, revs) {
			continue
		}
		outcomes[i] = dibs.Committed
		written = true
		if err := todo.add(g); err != nil {
			return nil, false, err
		}
	}
	if !written {
		return outcomes, false, nil
	}
	return outcomes, true, todo.write(ctx, run)
}

func unchanged(reads []dibs.Read, revs map[recordKey]present) bool {
	for i := range reads {
		if revs[recordKey{reads[i].Ref.Kind, reads[i].Ref.ID}].rev != reads[i].Rev {
			return false
		}
	}
	return true
}

// revisions returns the present revisions of all records that the groups have read; 0 for
// absent ones. It reads each record once, however many groups have read it.
func revisions(ctx context.Context, run runner, groups []dibs.Group) (map[recordKey]present, error) {
	var ids idsByKind
	revs := make(map[recordKey]present, 2*len(groups))
	for i := range groups {
		for j := range groups[i].Reads {
			ref := &groups[i].Reads[j].Ref
			key := recordKey{ref.Kind, ref.ID}
			if _, listed := revs[key]; !listed {
				revs[key] = present{}
				ids.add(ref.Kind, ref.ID)
			}
		}
	}
	err := ids.each(func(t *table) *batch { return t.revs }, func(kind dibs.Kind, st *statement, args []any) error {
		return run.query(ctx, st, args, func(row []driver.Value) error {
			revs[recordKey{kind, dibs.ID(asBytes(row[0]))}] = present{uint64(asInt(row[1])), asInt(row[2]), asInt(row[3])}
			return nil
		})
	})
	return revs, err
}

// Await takes SQLite's write lock for a moment. A Commit, in any process, holds it from
// before it reads the clock until its changes are visible.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	return unavailable(s.writer.await(ctx, func() bool { return s.instant() >= end }))
}

// awaitPause is the pause between two attempts, in which others may take the lock.
const awaitPause = time.Millisecond

// await waits until the write lock is free and the condition holds.
func (w *writer) await(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, w.wait)
	defer cancel()
	for {
		idle, err := w.idle(ctx)
		switch {
		case idle && holds():
			return nil
		case err != nil && !isBusy(err):
			return err
		}
		if err := backoff.Sleep(ctx, awaitPause); err != nil {
			return err
		}
	}
}

// idle reports whether the write lock is free.
func (w *writer) idle(ctx context.Context) (bool, error) {
	if err := w.mu.lock(ctx); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // an interrupted connection would lose its cache
	s, err := w.acquire(ctx)
	if err != nil {
		return false, err
	}
	if err := s.exec(ctx, beginWrite); err != nil {
		if !isBusy(err) {
			w.discard()
		}
		return false, err
	}
	w.rollback()
	return true, nil
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
