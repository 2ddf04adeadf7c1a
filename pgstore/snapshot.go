package pgstore

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

var (
	_ snapshot.Source     = (*Store)(nil)
	_ snapshot.Renumberer = (*Store)(nil)
)

// Snapshot begins a read-only transaction on a connection of its own. It takes no lock that delays a
// commit; while it is open, the server cannot remove old versions of rows.
func (s *Store) Snapshot(ctx context.Context) (snapshot.View, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.End()
	v, err := s.snapshot(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	return v, nil
}

func (s *Store) snapshot(ctx context.Context) (*view, error) {
	for more := true; more; { // so that few batches are left to number while the head is locked
		var err error
		if more, err = s.number(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	v := &view{store: s, conn: conn}
	if err = s.prepare(ctx, conn); err == nil {
		// The reader decides how long it takes between two pages.
		_, err = conn.Exec(ctx, "SET idle_in_transaction_session_timeout = 0")
	}
	for retry := newBackoff(); err == nil; {
		if err = v.begin(ctx); err == nil {
			return v, nil
		}
		if (!isLocked(err) && !lostRace(err)) || conn.IsClosed() {
			break
		}
		if _, err = conn.Exec(ctx, "ROLLBACK"); err == nil {
			err = retry.Wait(ctx)
		}
	}
	return nil, errors.Join(err, v.Close())
}

// begin begins the transaction of a view, and numbers the batches that it sees without a number before
// all others. So the events of the view are those up to a number. Only the process that has the lock of
// the head gives out numbers: begin has it while the transaction begins. The batches that a moment shows
// include all that they rest on.
func (v *view) begin(ctx context.Context) error {
	sql := v.store.sql
	return v.store.use(ctx, func(head *pgx.Conn) error {
		// At another level it would not see batches that are committed after it got the lock.
		if err := pipeline(ctx, head, call{text: beginLock}, call{text: sql.named("lock head")}); err != nil {
			return err
		}
		var pending pgtype.FlatArray[uuid]
		err := pipeline(ctx, v.conn, call{text: beginSnapshot},
			call{text: sql.named("begin snapshot"), scan: scanInto((*int64)(&v.now), &v.head, &pending)},
			call{text: "SET LOCAL lock_timeout = 0"}) // from now on it delays no commit, and can wait for a vacuum
		if err != nil {
			return err
		}
		v.pending = pending
		return pipeline(ctx, head,
			call{text: sql.named("number some"), args: []any{math.MaxInt32, pending}}, call{text: "COMMIT"})
	})
}

// view is a transaction that sees one moment.
type view struct {
	store   *Store
	conn    *pgx.Conn
	closing sync.Once
	now     dibs.Instant
	head    int64                  // the last number that the transaction sees
	pending pgtype.FlatArray[uuid] // the batches that have got the next numbers
}

func (v *view) Now() dibs.Instant { return v.now }

func (v *view) Latest() dibs.Cursor {
	last := v.head + int64(len(v.pending))
	if last == 0 {
		return ""
	}
	return position{last, math.MaxInt32}.cursor()
}

// Close ends the transaction with its connection.
func (v *view) Close() (err error) {
	v.closing.Do(func() { err = v.conn.Close(context.Background()) })
	return err
}

// read runs calls in the transaction.
func (v *view) read(ctx context.Context, calls ...call) error {
	if err := v.store.calls.Begin(ctx); err != nil {
		return err
	}
	defer v.store.calls.End()
	if v.conn.IsClosed() {
		return dibs.Unavailable(dibs.ErrClosed)
	}
	return unavailable(pipeline(ctx, v.conn, calls...))
}

var recordPages = [...]struct {
	table table[row]
	page  string
}{
	snapshot.Names: {names, "names after"}, snapshot.Entities: {entities, "entities after"}, snapshot.Documents: {documents, "documents after"},
}

func (v *view) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	of := recordPages[table]
	return snapshot.Pages(func(last *dibs.Record) (page []dibs.Record, err error) {
		after := dibs.Ref{}
		if last != nil {
			after = (*last).Ref()
		}
		args := []any{uuid(after.ID), maxRows}
		if table == snapshot.Documents {
			args = append(args, string(after.Kind))
		}
		err = v.read(ctx, call{text: v.store.sql.named(of.page), args: args, scan: func(row scanner) error {
			record, err := scanRecord(of.table, row)
			page = append(page, record)
			return err
		}})
		return page, err
	})
}

func (v *view) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	return snapshot.Pages(func(last *dibs.Event) ([]dibs.Event, error) {
		from := after
		if last != nil {
			from = last.Cursor
		}
		at, err := parseCursor(from)
		if err == nil && at.seq > v.head+int64(len(v.pending)) {
			err = badCursor(from)
		}
		if err != nil {
			return nil, err
		}
		var p page
		args := []any{at.seq, at.ord, maxRows}
		err = v.read(ctx, call{text: v.store.sql.named("page"), args: args, scan: p.scan})
		if err == nil && len(p.events) == 0 {
			args = append(args, v.head, v.pending)
			err = v.read(ctx, call{text: v.store.sql.named("page in snapshot"), args: args, scan: p.scan})
		}
		return p.events, err
	})
}

func (v *view) Load(ctx context.Context, refs []dibs.Ref) ([]dibs.Record, error) {
	var l loading
	err := v.read(ctx, l.calls(v.store.sql, refs)...)
	return l.records, err
}

// StartAfter makes the numbers of batches begin behind those of another feed.
func (s *Store) StartAfter(ctx context.Context, end dibs.Cursor) (dibs.Cursor, error) {
	at, err := parseCursor(end)
	if err != nil {
		return "", nil //nolint:nilerr // it is of another kind of engine
	}
	start := position{at.seq, math.MaxInt32}
	s.start.Store(&start)
	return start.cursor(), s.readCalls(ctx, func() []call { return []call{{text: s.sql.named("start after"), args: []any{at.seq + 1}}} })
}

// checkStart refuses a cursor from before the feed of another store was put into this one. Such a feed
// is put there before anything else reads it, so that the answer does not change.
func (s *Store) checkStart(ctx context.Context, after position) error {
	if after.seq == 0 {
		return nil
	}
	if s.start.Load() == nil {
		found, err := s.Load(ctx, []dibs.Ref{snapshot.StartRef})
		if err != nil {
			return err
		}
		var start position
		for _, record := range found.Records {
			if start, err = parseCursor(dibs.Cursor(record.(*dibs.Document).Data)); err != nil {
				return err
			}
		}
		s.start.Store(&start)
	}
	if after.seq <= s.start.Load().seq {
		return snapshot.ErrFormerCursor(after.cursor())
	}
	return nil
}
