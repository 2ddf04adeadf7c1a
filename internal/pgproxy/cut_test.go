package pgproxy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
)

func TestCutBefore(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutBefore()))
	f.cut(f.batch(transaction...))
	f.rows(0)
	f.reconnect()
	if err := f.batch(transaction...); err != nil {
		t.Fatal(err)
	}
	f.rows(2)
}

func TestCutBeforeCommitRollsBack(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Once(pgproxy.SQL("^COMMIT"), pgproxy.CutBefore()))
	f.exec("BEGIN")
	f.exec("INSERT INTO t VALUES (1)")
	_, err := f.conn.Exec(t.Context(), "COMMIT")
	f.cut(err)
	f.rows(0)
}

func TestCutAfter(t *testing.T) {
	eachMode(t, func(t *testing.T, f *fixture, mode pgx.QueryExecMode) {
		f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutAfter()))
		rows, err := f.conn.Query(t.Context(), "INSERT INTO t VALUES (1) RETURNING id", mode)
		if err == nil {
			if rows.Next() {
				t.Error("the client saw a row")
			}
			err = rows.Err()
		}
		f.cut(err)
		f.rows(1)
	})
}

func TestCutDuring(t *testing.T) {
	t.Parallel()
	for n, rows := range []int{0, 0, 0, 0, 2, 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := begin(t)
			f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutDuring(n)))
			f.cut(f.batch(transaction...))
			f.rows(rows)
		})
	}
}

// Without a Sync, nothing outside of a transaction is committed.
func TestCutDuringImplicit(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutDuring(2)))
	f.cut(f.batch(transaction[1:3]...))
	f.rows(0)
}

func TestStall(t *testing.T) {
	f := begin(t)
	until := make(chan struct{})
	seen := make(chan struct{})
	f.p.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
		if !x.Commits() {
			return pgproxy.Pass()
		}
		close(seen)
		return pgproxy.Stall(until)
	})
	done := make(chan error)
	go func() {
		_, err := f.conn.Exec(t.Context(), "INSERT INTO t VALUES (1)")
		done <- err
	}()
	<-seen
	f.rows(0)
	close(until)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.rows(1)
}

// A slow network delivers even if the client no longer waits.
func TestStallOutlivesTheClient(t *testing.T) {
	f := begin(t)
	until := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	stalling := pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.Stall(until))
	f.p.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
		if x.Commits() {
			cancel() // the exchange is on its way
		}
		return stalling(x)
	})
	if _, err := f.conn.Exec(ctx, "INSERT INTO t VALUES (1)"); err == nil {
		t.Fatal("no error")
	}
	f.eventually("the cancel request arrived, too early to have an effect", func() bool { return f.p.Cancels() == 1 })
	f.rows(0)
	close(until)
	f.eventually("the row exists", func() bool {
		var n int
		err := f.direct.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n)
		return err == nil && n == 1
	})
}

func TestStallAnswer(t *testing.T) {
	f := begin(t)
	until := make(chan struct{})
	f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.StallAnswer(until)))
	done := make(chan error, 1)
	go func() {
		_, err := f.conn.Exec(t.Context(), "INSERT INTO t VALUES (1)")
		done <- err
	}()
	f.eventually("the row exists", func() bool {
		var n int
		err := f.direct.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n)
		return err == nil && n == 1
	})
	select {
	case err := <-done:
		t.Fatalf("answered too early, error %v", err)
	default:
	}
	close(until)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A test with a stalled exchange must be able to end.
func TestEndWhileStalled(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Always((*pgproxy.Exchange).Commits, pgproxy.Stall(nil)))
	for range 3 {
		conn := pgtest.Connect(t, f.dsn)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := conn.Exec(ctx, "INSERT INTO t VALUES (1)"); err == nil {
			t.Fatal("no error")
		}
	}
}

func TestCutAllAndRefuse(t *testing.T) {
	f := begin(t)
	f.exec("BEGIN")
	f.exec("INSERT INTO t VALUES (1)")
	f.p.Refuse(true)
	f.p.CutAll()
	_, err := f.conn.Exec(t.Context(), "COMMIT")
	f.cut(err)
	f.rows(0)
	if _, err := pgx.Connect(t.Context(), f.dsn); err == nil {
		t.Error("connected though refused")
	}
	f.p.Refuse(false)
	f.reconnect()
	f.exec("INSERT INTO t VALUES (1)")
	f.rows(1)
}

// When its connection breaks, pgx sends a cancel request. It must not arrive, otherwise the
// server's outcome would be random.
func TestACutClientCancelsNothing(t *testing.T) {
	f := begin(t)
	other, err := f.direct.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	// It waits for the other transaction when it is cut off.
	f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.CutDuring(1)))
	_, err = f.conn.Exec(t.Context(), "INSERT INTO t VALUES (1)", pgx.QueryExecModeSimpleProtocol)
	f.cut(err)
	<-f.conn.PgConn().CleanupDone()
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.rows(1)
}
