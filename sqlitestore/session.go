package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"github.com/calldibs/dibs"
)

// session is one connection with its prepared statements. It uses the driver without
// database/sql, which would take as long as a short statement.
type session struct {
	conn  driver.Conn
	stmts map[*statement]driver.Stmt
	args  []driver.NamedValue // reused
}

func newSession(ctx context.Context, connector driver.Connector) (*session, error) {
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, stmts: make(map[*statement]driver.Stmt)}, nil
}

func (s *session) prepared(st *statement) (driver.Stmt, error) {
	if stmt, ok := s.stmts[st]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.Prepare(st.text())
	if err == nil {
		s.stmts[st] = stmt
	}
	return stmt, err
}

// numbered returns the arguments for the driver. They are valid until the next call.
func (s *session) numbered(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s.args
}

func (s *session) query(ctx context.Context, st *statement, args []any, fn func(row []driver.Value) error) error {
	stmt, err := s.prepared(st)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, s.numbered(args))
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

func (s *session) exec(ctx context.Context, st *statement, args ...any) error {
	stmt, err := s.prepared(st)
	if err != nil {
		return err
	}
	_, err = stmt.(driver.StmtExecContext).ExecContext(ctx, s.numbered(args))
	return err
}

// script runs several statements without keeping them prepared.
func (s *session) script(ctx context.Context, text string) error {
	_, err := s.conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// close ends the connection in any state.
func (s *session) close() error {
	for _, stmt := range s.stmts {
		_ = stmt.Close()
	}
	return s.conn.Close()
}

var (
	beginRead  = newStatement("BEGIN")
	beginWrite = newStatement("BEGIN IMMEDIATE")
	commitTx   = newStatement("COMMIT")
	rollbackTx = newStatement("ROLLBACK")
)

// snapshot runs fn in a read transaction, which sees one moment.
func snapshot(ctx context.Context, run runner, fn func() error) error {
	if err := run.exec(ctx, beginRead); err != nil {
		return err
	}
	if err := fn(); err != nil {
		// Not under ctx, which may have ended. Unlike readers, the writer keeps its connection
		// after an error.
		_ = run.exec(context.Background(), rollbackTx)
		return err
	}
	return run.exec(context.Background(), commitTx)
}

// readers is a pool of sessions that read.
type readers struct {
	connector driver.Connector
	idle      chan *session // nil stands for one that is not open yet
}

func newReaders(connector driver.Connector, size int) *readers {
	r := &readers{connector, make(chan *session, size)}
	for range size {
		r.idle <- nil
	}
	return r
}

// use waits for an idle session and runs fn on it. After an error the session is discarded.
func (r *readers) use(ctx context.Context, fn func(runner) error) error {
	var s *session
	select {
	case s = <-r.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if s == nil {
		s, err = newSession(ctx, r.connector)
	}
	if err == nil {
		err = fn(s)
	}
	if err != nil && s != nil && !errors.Is(err, dibs.ErrBadCursor) {
		_ = s.close()
		s = nil
	}
	r.idle <- s
	return err
}

// close ends the sessions, none of which may be in use.
func (r *readers) close() (err error) {
	for range cap(r.idle) {
		if s := <-r.idle; s != nil {
			err = errors.Join(err, s.close())
		}
	}
	return err
}

// writer is the one session that writes.
type writer struct {
	connector driver.Connector
	wait      time.Duration // how long to wait for other processes
	mu        ctxMutex
	s         *session // nil until needed, and after discard
}

// acquire returns the session. The caller holds mu.
func (w *writer) acquire(ctx context.Context) (*session, error) {
	if w.s == nil {
		s, err := newSession(ctx, w.connector)
		if err != nil {
			return nil, err
		}
		w.s = s
	}
	return w.s, nil
}

// read runs a short read on the session. The caller holds mu.
func (w *writer) read(ctx context.Context, fn func(context.Context, runner) error) error {
	ctx = context.WithoutCancel(ctx) // an interrupted connection would lose its cache
	s, err := w.acquire(ctx)
	if err != nil {
		return err
	}
	if err = fn(ctx, s); err != nil {
		w.discard()
	}
	return err
}

// busyWait is how long SQLite itself waits for the transaction of another process. SQLite polls
// less often the longer it waits, down to every 100 ms, and would starve beside a busy process.
// So the writer waits many times for a short time.
const busyWait = 10 * time.Millisecond

// begin begins a transaction that has the write lock. The caller holds mu.
func (w *writer) begin(ctx context.Context) (*session, error) {
	for deadline := time.Now().Add(w.wait); ; {
		s, err := w.acquire(ctx)
		if err == nil {
			if err = s.exec(ctx, beginWrite); err == nil {
				return s, nil
			}
			if !isBusy(err) {
				w.discard()
			}
		}
		if !isBusy(err) || time.Now().After(deadline) {
			return nil, err
		}
	}
}

// rollback ends the transaction. After some errors, such as a full disk, SQLite has rolled it back
// already, and returns an error that rollback ignores. The caller holds mu.
func (w *writer) rollback() {
	err := w.s.exec(context.Background(), rollbackTx)
	if err != nil && primaryCode(err) != codeError {
		w.discard()
	}
}

func (w *writer) discard() {
	_ = w.s.close()
	w.s = nil
}

func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.s == nil {
		return nil
	}
	err := w.s.close()
	w.s = nil
	return err
}
