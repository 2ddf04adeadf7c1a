package sqlitestore

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// session is one connection with the statements it has prepared.
type session struct {
	conn  *sql.Conn
	stmts map[*statement]*sql.Stmt
}

func newSession(ctx context.Context, db *sql.DB) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn, make(map[*statement]*sql.Stmt)}, nil
}

func (s *session) prepared(st *statement) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[st]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), st.text())
	if err == nil {
		s.stmts[st] = stmt
	}
	return stmt, err
}

func (s *session) query(ctx context.Context, st *statement, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepared(st)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *session) exec(ctx context.Context, st *statement, args ...any) error {
	stmt, err := s.prepared(st)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

// discard closes the connection for good: the pool must not hand it out again,
// whatever state it was left in.
func (s *session) discard() {
	for _, stmt := range s.stmts {
		_ = stmt.Close()
	}
	_ = s.conn.Raw(func(any) error { return errDiscard })
	_ = s.conn.Close()
}

var (
	beginRead  = newStatement("BEGIN")
	beginWrite = newStatement("BEGIN IMMEDIATE")
	commitTx   = newStatement("COMMIT")
	rollbackTx = newStatement("ROLLBACK")
)

// snapshot runs fn in a read transaction: all it reads is of one moment.
func snapshot(ctx context.Context, run runner, fn func() error) error {
	if err := run.exec(ctx, beginRead); err != nil {
		return err
	}
	if err := fn(); err != nil {
		// Not under ctx, which may have ended. The connection is discarded after
		// an error, but the writer's is not.
		_ = run.exec(context.Background(), rollbackTx)
		return err
	}
	return run.exec(context.Background(), commitTx)
}

// readers is a pool of sessions that read.
type readers struct {
	db   *sql.DB
	idle chan *session // nil: a place where none was opened yet
}

func newReaders(db *sql.DB, size int) *readers {
	r := &readers{db, make(chan *session, size)}
	for range size {
		r.idle <- nil
	}
	return r
}

// use runs fn on an idle session, waiting for one. After an error the session
// is not used again.
func (r *readers) use(ctx context.Context, fn func(runner) error) error {
	var s *session
	select {
	case s = <-r.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if s == nil {
		s, err = newSession(ctx, r.db)
	}
	if err == nil {
		if err = fn(s); err != nil {
			s.discard()
		}
	}
	if err != nil {
		s = nil
	}
	r.idle <- s
	return err
}

// close ends the sessions. Nobody may be using one.
func (r *readers) close() {
	for range cap(r.idle) {
		if s := <-r.idle; s != nil {
			s.discard()
		}
	}
}

// writer is the one session that writes.
type writer struct {
	db   *sql.DB
	wait time.Duration // how long to wait for other processes
	mu   sync.Mutex
	s    *session // nil until needed, and after one was discarded
}

// acquire returns the session. The caller holds mu.
func (w *writer) acquire(ctx context.Context) (*session, error) {
	if w.s == nil {
		s, err := newSession(ctx, w.db)
		if err != nil {
			return nil, err
		}
		w.s = s
	}
	return w.s, nil
}

// busyWait is how long SQLite itself waits for another process's transaction.
// It asks less and less often the longer it waits, up to every 100 ms, and would
// starve beside a busy process; so it is told to wait shortly, and again.
const busyWait = 10 * time.Millisecond

// begin begins a transaction that has the write lock. The caller holds mu.
func (w *writer) begin(ctx context.Context) (*session, error) {
	s, err := w.acquire(ctx)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(w.wait); ; {
		err := s.exec(ctx, beginWrite)
		if err == nil {
			return s, nil
		}
		if !isBusy(err) || time.Now().After(deadline) {
			return nil, err
		}
	}
}

// rollback ends the transaction under way. SQLite has done so already after
// some errors (a full disk), and says that there is none. The caller holds mu.
func (w *writer) rollback() {
	err := w.s.exec(context.Background(), rollbackTx)
	if err != nil && primaryCode(err) != codeError {
		w.discard()
	}
}

func (w *writer) discard() {
	w.s.discard()
	w.s = nil
}

func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.s != nil {
		w.discard()
	}
}
