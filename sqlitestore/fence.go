package sqlitestore

import (
	"context"
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/sqlrow"
)

var _ record.Fencer = (*Store)(nil)

// The fence is a trigger before every kind of write. Triggers belong to the file: SQLite runs them
// in every process, in callers' transactions, and for statements that were prepared before. A file
// without a fence has none of them, so its commits pay nothing.
var raiseFence, dropFence = fenceScripts()

func fenceScripts() (raise, drop string) {
	var creates, drops strings.Builder
	for _, table := range []string{"names", "entities", "documents", "events"} {
		for _, verb := range []string{"insert", "update", "delete"} {
			name := "dibs_fence_" + table + "_" + verb
			drops.WriteString("DROP TRIGGER IF EXISTS " + name + ";\n")
			creates.WriteString("CREATE TRIGGER " + name + " BEFORE " + verb + " ON dibs_" + table +
				" BEGIN SELECT RAISE(ABORT, 'dibs: the registry has moved: see the kind fence in dibs_documents'); END;\n")
		}
	}
	return creates.String(), drops.String()
}

var removeFence = newStatement(`DELETE FROM dibs_documents WHERE kind = ? AND id = ?`)

// Fence makes every later Commit fail. It takes the write lock, so no other transaction that
// writes is in progress.
func (s *Store) Fence(ctx context.Context, place string) error {
	return s.withLock(ctx, func(ctx context.Context, conn *session) error {
		if err := conn.script(ctx, dropFence); err != nil {
			return err
		}
		fence := record.NewFence(place)
		before, err := loadRefs(ctx, conn, []dibs.Ref{fence.Ref()}, false)
		if err != nil {
			return err
		}
		if len(before) > 0 {
			fence.Rev = before[0].Revision() + 1
		}
		data, err := sqlrow.NewRow(fence)
		if err != nil {
			return err
		}
		if err := putRows(ctx, conn, documents.upsert, []row{{Row: data, columns: documents.Columns, id: fence.ID, sum: documents.sum(data)}}); err != nil {
			return err
		}
		return conn.script(ctx, raiseFence)
	})
}

// Unfence allows commits again.
func (s *Store) Unfence(ctx context.Context) error {
	return s.withLock(ctx, func(ctx context.Context, conn *session) error {
		if err := conn.script(ctx, dropFence); err != nil {
			return err
		}
		return conn.exec(ctx, removeFence, string(record.FenceRef.Kind), record.FenceRef.ID[:])
	})
}

// cursorGap is how far behind the last cursor of another store ContinueAfter begins: further than
// that store gets while it is copied.
const cursorGap = 1 << 32

// ContinueAfter numbers later events far behind a cursor of another SQLite file, of which this
// empty one becomes a copy. A reader with any cursor of that file then gets all events here.
func (s *Store) ContinueAfter(ctx context.Context, cursor dibs.Cursor) error {
	seq, err := parseCursor(cursor)
	if err != nil {
		return err
	}
	return s.withLock(ctx, func(ctx context.Context, conn *session) error {
		return conn.exec(ctx, keepEnds, int64(0), seq+cursorGap)
	})
}

// withLock runs change in a transaction that has the write lock.
func (s *Store) withLock(ctx context.Context, change func(context.Context, *session) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	conn, err := s.writer.take(ctx)
	if err != nil {
		return dibs.Unavailable(err)
	}
	defer s.writer.put(conn)
	ctx = context.WithoutCancel(ctx) // the outcome of an interrupted commit would be unknown
	if err := conn.begin(ctx, s.busyTimeout); err != nil {
		return unavailable(err)
	}
	if err := change(ctx, conn); err != nil {
		conn.rollback()
		return unavailable(err)
	}
	if err := conn.exec(ctx, commitTx); err != nil {
		conn.rollback()
		return commitError(err)
	}
	return nil
}

// asMoved returns [record.Moved] for the error of the fence, and every other error unchanged.
func asMoved(ctx context.Context, run runner, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code() != sqlite3.SQLITE_CONSTRAINT_TRIGGER {
		return err
	}
	fence, err := loadRefs(ctx, run, []dibs.Ref{record.FenceRef}, false)
	if err != nil {
		return err
	}
	var place []byte
	for _, r := range fence {
		place = r.(*dibs.Document).Data
	}
	return record.Moved(string(place))
}
