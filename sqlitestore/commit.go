package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/calldibs/dibs"
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
	// From here on nothing is interrupted: what became of it would be unknown.
	caller, ctx := ctx, context.WithoutCancel(ctx)
	conn, err := s.writer.begin(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if err := caller.Err(); err != nil { // while others wrote; nothing has happened
		s.writer.rollback()
		return nil, dibs.Unavailable(err)
	}
	// Also if the caller's clock panics: nobody else could write any more.
	finished := false
	defer func() {
		if !finished {
			s.writer.discard()
		}
	}()
	outcomes, fresh, err := apply(ctx, conn, s.instant, groups)
	finished = true
	if err != nil || !fresh {
		s.writer.rollback()
		return outcomes, unavailable(err)
	}
	if err := conn.exec(ctx, commitTx); err != nil {
		s.writer.rollback()
		return nil, commitError(err)
	}
	return outcomes, nil
}

// record addresses a record for the comparison of revisions.
type record struct {
	kind dibs.Kind
	id   dibs.ID
}

// present is what a record is now: its revision, and of a name its number and where
// its history ends.
type present struct {
	rev               uint64
	number, lastEvent int64
}

// apply checks every group and writes those that are fresh, if any. The caller's
// transaction has the write lock, so what is checked stays true.
func apply(ctx context.Context, run runner, now func() dibs.Instant, groups []dibs.Group) (outcomes []dibs.Outcome, fresh bool, err error) {
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
		fresh = true
		todo.add(g)
	}
	if !fresh {
		return outcomes, false, nil
	}
	return outcomes, true, todo.write(ctx, run)
}

func unchanged(reads []dibs.Read, revs map[record]present) bool {
	for i := range reads {
		if revs[record{reads[i].Ref.Kind, reads[i].Ref.ID}].rev != reads[i].Rev {
			return false
		}
	}
	return true
}

// revisions returns the present revisions of all that the groups have read; 0 for
// what is absent. Many groups may have read the same record: it is looked at once.
func revisions(ctx context.Context, run runner, groups []dibs.Group) (map[record]present, error) {
	var list sorted
	revs := make(map[record]present, 2*len(groups))
	for i := range groups {
		for j := range groups[i].Reads {
			ref := &groups[i].Reads[j].Ref
			key := record{ref.Kind, ref.ID}
			if _, listed := revs[key]; !listed {
				revs[key] = present{}
				list.add(ref.Kind, ref.ID)
			}
		}
	}
	err := list.each((*shelf).checking, func(kind dibs.Kind, _ *shelf, st *statement, args []any) error {
		return run.query(ctx, st, args, func(row []driver.Value) error {
			revs[record{kind, dibs.ID(asBytes(row[0]))}] = present{uint64(asInt(row[1])), asInt(row[2]), asInt(row[3])}
			return nil
		})
	})
	return revs, err
}
