package sqlitestore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"slices"
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

// recordPages are the statements of a page of records behind a key: the page with the numbers of its rows,
// and the key of one of them as the index has it, in whose order they come.
type recordPages struct {
	*table
	page, keyAt *statement
}

func newRecordPages(t *table) recordPages {
	key := strings.Join(t.Key, ", ")
	behind := " FROM " + t.Name + " WHERE (" + key + ") > (" + params(len(t.Key)) + ") ORDER BY " + key + " LIMIT ?"
	return recordPages{t, newStatement("SELECT " + t.columns + ", rowid" + behind), newStatement("SELECT " + key + behind + " OFFSET ?")}
}

var recordPagesOf = [...]recordPages{
	snapshot.Names: newRecordPages(names), snapshot.Entities: newRecordPages(entities), snapshot.Documents: newRecordPages(documents),
}

// scanned is a record or an event of a page, and its damage, if any.
type scanned[T any] struct {
	value  T
	damage *snapshot.DamageError
	key    []any // of the last record of a page: what the next page comes behind
}

func newScanned[T any](value T, err error, row string, number int64) scanned[T] {
	s := scanned[T]{value: value}
	if err != nil {
		s.damage = &snapshot.DamageError{Row: fmt.Sprintf(row, number), Err: unavailable(err)}
	}
	return s
}

// values returns the values of a sequence, with their damages as errors.
func values[T any](rows iter.Seq2[scanned[T], error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if row.damage != nil {
				err = row.damage
			}
			if !yield(row.value, err) {
				return
			}
		}
	}
}

func (v *view) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	of := recordPagesOf[table]
	return values(snapshot.Pages(func(last *scanned[dibs.Record]) (page []scanned[dibs.Record], err error) {
		after := []any{"", []byte{}}[2-len(of.Key):]
		if last != nil {
			after = last.key
		}
		err = v.read(ctx, func() error {
			page, err = of.read(ctx, v.conn, after)
			return err
		})
		return page, err
	}))
}

// read reads the page behind a key.
func (of recordPages) read(ctx context.Context, run runner, after []any) (page []scanned[dibs.Record], err error) {
	args := append(slices.Clone(after), int64(snapshot.PageSize))
	err = run.query(ctx, of.page, args, func(row []driver.Value) error {
		record, err := of.scan(row)
		page = append(page, newScanned(record, err, "row %d of "+of.Name, asInt(row[len(row)-1])))
		return nil
	})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	// A damaged row may have another key than the index, and the next page would not be the next one.
	last := &page[len(page)-1]
	args[len(after)] = int64(1)
	err = run.query(ctx, of.keyAt, append(args, int64(len(page)-1)), func(row []driver.Value) error {
		for _, value := range row {
			last.key = append(last.key, value)
		}
		return nil
	})
	if err == nil && !isBehind(last.key, after) {
		err = damaged("the order of %s", of.Name)
	}
	return page, err
}

// isBehind reports whether a key comes after another one. In a damaged index it may not.
func isBehind(key, after []any) bool {
	for i, value := range key {
		order := cmp.Compare(asText(value), asText(after[i]))
		if bytes, ok := value.([]byte); ok {
			order = cmp.Compare(string(bytes), string(asBytes(after[i])))
		}
		if order != 0 {
			return order > 0
		}
	}
	return false
}

func (v *view) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return values(snapshot.Pages(func(last *scanned[dibs.Event]) (page []scanned[dibs.Event], err error) {
		from := after
		if last != nil {
			from = last.value.Cursor
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
				number := asInt(row[0])
				if number <= seq {
					return damaged("the order of dibs_events")
				}
				seq = number
				e, err := scanEvent(ctx, v.conn, row)
				if err != nil && !errors.Is(err, ErrDamaged) && causeOf(err) != dibs.CauseDamaged {
					return err
				}
				page = append(page, newScanned(e, err, "event %d", number))
				return nil
			})
		})
		return page, err
	}))
}

var checkFile = newStatement("PRAGMA integrity_check(1000)")

// CheckFile returns what SQLite finds wrong with the file: pages, and indexes that do not agree with
// their tables; and commits that are lost in the WAL. It reads all of the file.
func (v *view) CheckFile(ctx context.Context) (wrong []string, err error) {
	err = v.read(ctx, func() error {
		lost := checkWAL(ctx, v.conn)
		if errors.Is(lost, ErrDamaged) {
			wrong = append(wrong, lost.Error())
		} else if lost != nil {
			return lost
		}
		return v.conn.query(ctx, checkFile, nil, func(row []driver.Value) error {
			if text := asText(row[0]); text != "ok" {
				wrong = append(wrong, text)
			}
			return nil
		})
	})
	return wrong, err
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

// checkStart refuses a number from before the feed of another store was put into this one.
func checkStart(ctx context.Context, run runner, seq int64) error {
	if seq == 0 {
		return nil
	}
	found, err := loadRefs(ctx, run, []dibs.Ref{snapshot.StartRef}, false)
	if err != nil || len(found) == 0 {
		return err
	}
	start, err := parseCursor(dibs.Cursor(found[0].(*dibs.Document).Data))
	if err == nil && seq <= start {
		err = snapshot.ErrFormerCursor(cursorOf(seq))
	}
	return err
}
