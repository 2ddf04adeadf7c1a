package sqlitestore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"github.com/calldibs/dibs"
)

// session is one connection with its prepared statements. It connects when it is used, also after
// a close. It uses the driver without database/sql, which would take as long as a short statement.
type session struct {
	connector driver.Connector
	conn      driver.Conn // nil until it is used
	stmts     map[*statement]driver.Stmt
	args      []driver.NamedValue // reused

	// oneTransaction says that one transaction lasts as long as the connection, see [creation]: BEGIN,
	// COMMIT and ROLLBACK do nothing. It cannot be rolled back, so after an error every statement fails.
	oneTransaction bool
	failed         error
}

func (s *session) connect(ctx context.Context) error {
	if s.conn != nil || s.failed != nil {
		return s.failed
	}
	conn, err := s.connector.Connect(ctx)
	if err == nil {
		s.conn, s.stmts = conn, make(map[*statement]driver.Stmt)
	}
	return err
}

func (s *session) prepared(ctx context.Context, st *statement) (driver.Stmt, error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
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

func (s *session) query(ctx context.Context, st *statement, args []any, fn func(row []driver.Value) error) (err error) {
	defer s.note(&err)
	stmt, err := s.prepared(ctx, st)
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

func (s *session) exec(ctx context.Context, st *statement, args ...any) (err error) {
	if s.oneTransaction && (st == beginRead || st == beginWrite || st == commitTx || st == rollbackTx) {
		return s.failed
	}
	defer s.note(&err)
	stmt, err := s.prepared(ctx, st)
	if err != nil {
		return err
	}
	_, err = stmt.(driver.StmtExecContext).ExecContext(ctx, s.numbered(args))
	return err
}

// note remembers an error in a transaction that cannot be rolled back.
func (s *session) note(err *error) {
	if s.oneTransaction && s.failed == nil {
		s.failed = *err
	}
}

// script runs several statements without keeping them prepared.
func (s *session) script(ctx context.Context, text string) (err error) {
	defer s.note(&err)
	if err := s.connect(ctx); err != nil {
		return err
	}
	_, err = s.conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// close ends the connection in any state.
func (s *session) close() error {
	if s.conn == nil {
		return nil
	}
	for _, stmt := range s.stmts {
		_ = stmt.Close()
	}
	err := s.conn.Close()
	s.conn = nil
	if s.oneTransaction {
		s.failed = cmp.Or(s.failed, errDiscarded)
	}
	return err
}

var errDiscarded = errors.New("the transaction is lost with its connection")

var (
	beginRead  = newStatement("BEGIN")
	beginWrite = newStatement("BEGIN IMMEDIATE")
	commitTx   = newStatement("COMMIT")
	rollbackTx = newStatement("ROLLBACK")
)

// inTransaction runs fn in a read transaction, which sees one moment.
func inTransaction(ctx context.Context, run runner, fn func() error) error {
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

// rollback ends the transaction. After some errors, such as a full disk, SQLite has rolled it back
// already, and returns an error that rollback ignores.
func (s *session) rollback() {
	err := s.exec(context.Background(), rollbackTx)
	if err != nil && primaryCode(err) != codeError {
		_ = s.close()
	}
}

// pollLock is how often begin tries again while another process writes. SQLite itself would try less and
// less often, down to every 100 ms, and hardly ever meet the short moment between two commits of a
// busy process.
const pollLock = 200 * time.Microsecond

// begin begins a transaction that has the write lock, and waits for it.
func (s *session) begin(ctx context.Context, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		err := s.exec(ctx, beginWrite)
		if err != nil && !isBusy(err) {
			_ = s.close()
		}
		if !isBusy(err) || !time.Now().Before(deadline) {
			return err
		}
		time.Sleep(pollLock)
	}
}

// pool is some sessions with the same settings.
type pool struct {
	connector driver.Connector
	idle      chan *session
}

func newPool(connector driver.Connector, size int) *pool {
	p := &pool{connector, make(chan *session, size)}
	for range size {
		p.put(p.another())
	}
	return p
}

// another returns a session that is not of the pool.
func (p *pool) another() *session { return &session{connector: p.connector} }

// take waits for an idle session until the context ends. Callers get it in the order in which
// they came, and put it back.
func (p *pool) take(ctx context.Context) (*session, error) {
	select {
	case s := <-p.idle:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) put(s *session) { p.idle <- s }

// use waits for an idle session and runs fn on it. After an error it closes the session.
func (p *pool) use(ctx context.Context, fn func(runner) error) error {
	s, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.put(s)
	if err = fn(s); err != nil && !errors.Is(err, dibs.ErrBadCursor) {
		_ = s.close()
	}
	return err
}

// close ends the sessions, none of which may be in use.
func (p *pool) close() (err error) {
	for range cap(p.idle) {
		err = errors.Join(err, (<-p.idle).close())
	}
	return err
}
