package pgproxy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
)

// fixture is a proxy, one client through it, and one direct client.
type fixture struct {
	*testing.T
	p      *pgproxy.Proxy
	dsn    string // Through the proxy.
	conn   *pgx.Conn
	direct *pgx.Conn
}

// begin returns a fixture with an empty table t (id).
func begin(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	network, addr, dsn := startPostgres(t)
	f := &fixture{T: t, p: pgproxy.Start(t, network, addr)}
	f.dsn = f.p.DSN(dsn)
	f.direct = pgtest.Connect(t, dsn)
	if _, err := f.direct.Exec(t.Context(), "CREATE TABLE t (id int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	f.conn = pgtest.Connect(t, f.dsn)
	return f
}

// reconnect replaces a client that was cut off.
func (f *fixture) reconnect() {
	f.Helper()
	f.conn = pgtest.Connect(f, f.dsn)
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.conn.Exec(f.Context(), sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

// eachMode runs a test in each mode of pgx.
func eachMode(t *testing.T, test func(t *testing.T, f *fixture, mode pgx.QueryExecMode)) {
	t.Helper()
	t.Parallel()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) { test(t, begin(t), mode) })
	}
}

// stillWorks demands that nothing was committed, and that the connection is usable.
func (f *fixture) stillWorks(mode pgx.QueryExecMode) {
	f.Helper()
	f.status('I')
	f.rows(0)
	f.exec("INSERT INTO t VALUES (1)", mode)
	f.rows(1)
}

// batch sends statements in one exchange that pgx does not have to prepare first.
func (f *fixture) batch(statements ...string) error {
	f.Helper()
	b := &pgx.Batch{}
	for _, s := range statements {
		b.Queue(s)
	}
	return f.conn.SendBatch(f.Context(), b).Close()
}

// rows fails the test unless the table has this many rows.
func (f *fixture) rows(want int) {
	f.Helper()
	f.p.AwaitServer()
	var got int
	if err := f.direct.QueryRow(f.Context(), "SELECT count(*) FROM t").Scan(&got); err != nil {
		f.Fatal(err)
	}
	if got != want {
		f.Errorf("the table has %d rows, want %d", got, want)
	}
}

// code fails the test unless the error has this SQLSTATE.
func (f *fixture) code(err error, want string) {
	f.Helper()
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pgErr.Code != want {
		f.Fatalf("the error is %v, want %s", err, want)
	}
}

// cut fails the test unless the error is a closed connection.
func (f *fixture) cut(err error) {
	f.Helper()
	if _, ok := errors.AsType[*pgconn.PgError](err); err == nil || ok || !f.conn.IsClosed() {
		f.Fatalf("the error is %v, want a closed connection", err)
	}
}

// status fails the test unless the connection is in this state: I, T or E.
func (f *fixture) status(want byte) {
	f.Helper()
	if got := f.conn.PgConn().TxStatus(); got != want {
		f.Fatalf("the connection is in state %c, want %c", got, want)
	}
}

// eventually waits for a condition.
func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("condition not met: %s", what)
		}
	}
}
