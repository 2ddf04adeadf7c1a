package sqlitestore

import (
	"context"
	"database/sql/driver"
	"iter"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

var (
	_ snapshot.Source     = (*Store)(nil)
	_ snapshot.Renumberer = (*Store)(nil)
)

// Snapshot begins a read transaction on a connection of its own. In WAL mode it delays no writer;
// while it is open, the WAL file grows by what is written.
func (s *Store) Snapshot(ctx context.Context) (snapshot.View, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	v := &view{store: s, conn: s.readers.another()}
	err := v.conn.exec(ctx, beginRead)
	if err == nil {
		v.last, err = readInt(ctx, v.conn, selectLastSeq) // the first read decides on the moment
	}
	if err != nil {
		_ = v.conn.close()
		return nil, unavailable(err)
	}
	v.now = s.instant()
	return v, nil
}

// view is a read transaction.
type view struct {
	store *Store
	conn  *session
	now   dibs.Instant
	last  int64 // the number of the last event
}

func (v *view) Now() dibs.Instant { return v.now }

func (v *view) Latest() dibs.Cursor {
	if v.last == 0 {
		return ""
	}
	return cursorOf(v.last)
}

// Close ends the transaction with its connection.
func (v *view) Close() error { return unavailable(v.conn.close()) }

// read runs fn on the connection, unless the store or the view is closed. A closed connection would
// begin a transaction of another moment.
func (v *view) read(ctx context.Context, fn func() error) error {
	if err := v.store.calls.Begin(ctx); err != nil {
		return err
	}
	defer v.store.calls.End()
	if v.conn.conn == nil {
		return dibs.Unavailable(dibs.ErrClosed)
	}
	return unavailable(fn())
}

// pageByKey returns the statement of a page of records behind a key.
func pageByKey(t *table) *statement {
	key := strings.Join(t.Key, ", ")
	return newStatement("SELECT " + t.columns + " FROM " + t.Name + " WHERE (" + key + ") > (" + params(len(t.Key)) + ") ORDER BY " + key + " LIMIT ?")
}

var recordPages = [...]struct {
	table *table
	page  *statement
}{
	snapshot.Names: {names, pageByKey(names)}, snapshot.Entities: {entities, pageByKey(entities)}, snapshot.Documents: {documents, pageByKey(documents)},
}

func (v *view) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	of := recordPages[table]
	return snapshot.Pages(func(last *dibs.Record) (page []dibs.Record, err error) {
		after := dibs.Ref{}
		if last != nil {
			after = (*last).Ref()
		}
		args := []any{after.ID[:], int64(snapshot.PageSize)}
		if table == snapshot.Documents {
			args = append([]any{string(after.Kind)}, args...)
		}
		err = v.read(ctx, func() error {
			return v.conn.query(ctx, of.page, args, func(row []driver.Value) error {
				record, err := of.table.scan(row)
				page = append(page, record)
				return err
			})
		})
		return page, err
	})
}

func (v *view) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return snapshot.Pages(func(last *dibs.Event) (page []dibs.Event, err error) {
		from := after
		if last != nil {
			from = last.Cursor
		}
		seq, err := parseCursor(from)
		if err == nil && seq > v.last {
			err = badCursor(from)
		}
		if err != nil {
			return nil, err
		}
		err = v.read(ctx, func() error {
			return v.conn.query(ctx, selectEvents, []any{seq, int64(snapshot.PageSize)}, func(row []driver.Value) error {
				e, err := scanEvent(row)
				page = append(page, e)
				return err
			})
		})
		return page, err
	})
}

func (v *view) Load(ctx context.Context, refs []dibs.Ref) (records []dibs.Record, err error) {
	err = v.read(ctx, func() error {
		records, err = loadRefs(ctx, v.conn, refs, false)
		return err
	})
	return records, err
}

// StartAfter makes the numbers of events begin behind those of another feed.
func (s *Store) StartAfter(ctx context.Context, end dibs.Cursor) (dibs.Cursor, error) {
	seq, err := parseCursor(end)
	if err != nil {
		return "", nil // it is of another kind of engine
	}
	if err := s.calls.Begin(ctx); err != nil {
		return "", err
	}
	defer s.calls.End()
	conn, err := s.writer.take(ctx)
	if err != nil {
		return "", dibs.Unavailable(err)
	}
	defer s.writer.put(conn)
	return end, unavailable(conn.exec(ctx, keepEnds, int64(0), seq+1)) // an empty store has no other ends
}

var selectStart = newStatement(`SELECT CAST(data AS TEXT) FROM dibs_documents WHERE kind = ? AND id = ?`)

// checkStart refuses a number from before the feed of another store was put into this one.
func checkStart(ctx context.Context, run runner, seq int64) error {
	if seq == 0 {
		return nil
	}
	return run.query(ctx, selectStart, []any{string(snapshot.KindStart), snapshot.StartRef.ID[:]}, func(row []driver.Value) error {
		start, err := parseCursor(dibs.Cursor(asText(row[0])))
		if err == nil && seq <= start {
			err = snapshot.ErrFormerCursor(cursorOf(seq))
		}
		return err
	})
}
