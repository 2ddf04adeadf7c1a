package pgproxy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
)

var modes = map[string]pgx.QueryExecMode{
	"prepared":  pgx.QueryExecModeCacheStatement,
	"described": pgx.QueryExecModeCacheDescribe,
	"exec":      pgx.QueryExecModeExec,
	"simple":    pgx.QueryExecModeSimpleProtocol,
}

func TestQueriesAndBatchesPass(t *testing.T) {
	eachMode(t, func(t *testing.T, f *fixture, mode pgx.QueryExecMode) {
		f.exec("INSERT INTO t SELECT generate_series(1, $1::int)", mode, 5000)
		rows, err := f.conn.Query(t.Context(), "SELECT id FROM t WHERE id > $1 ORDER BY id", mode, 10)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil || len(ids) != 4990 || ids[0] != 11 {
			t.Fatalf("%d rows, error %v", len(ids), err)
		}
		_, err = f.conn.Exec(t.Context(), "INSERT INTO t VALUES ($1)", mode, 1)
		f.code(err, "23505")
		f.status('I')
	})
}

func TestBatchIsOneExchangeOncePrepared(t *testing.T) {
	f := begin(t)
	send := func(first int) {
		t.Helper()
		b := &pgx.Batch{}
		for i := range 300 {
			b.Queue("INSERT INTO t VALUES ($1)", first+i)
			b.Queue("SELECT count(*) FROM t").QueryRow(func(row pgx.Row) error {
				var n int
				if err := row.Scan(&n); err != nil || n != first+i+1 {
					t.Errorf("%d rows, error %v", n, err)
				}
				return nil
			})
		}
		if err := f.conn.SendBatch(t.Context(), b).Close(); err != nil {
			t.Fatal(err)
		}
	}
	send(0)
	var exchanges, statements atomic.Int64
	f.p.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
		exchanges.Add(1)
		statements.Add(int64(len(x.Statements)))
		return pgproxy.Pass()
	})
	send(300)
	if exchanges.Load() != 1 || statements.Load() != 600 {
		t.Errorf("%d exchanges of %d statements, want one of 600", exchanges.Load(), statements.Load())
	}
}

func TestPreparedStatementsAreKnownByTheirText(t *testing.T) {
	f := begin(t)
	if _, err := f.conn.Prepare(t.Context(), "put", "INSERT INTO t VALUES ($1)"); err != nil {
		t.Fatal(err)
	}
	f.p.Record(true)
	f.exec("put", 1)
	f.exec("SELECT 1", pgx.QueryExecModeSimpleProtocol)
	want := []string{"INSERT INTO t VALUES ($1)", "SELECT 1"}
	if got := f.p.Statements(); !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	f.p.Record(false)
	f.exec("SELECT 2")
	if got := f.p.Statements(); len(got) != 2 {
		t.Errorf("recorded %q after the end", got)
	}
}

func TestCopyPasses(t *testing.T) {
	f := begin(t)
	n, err := f.conn.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"id"},
		pgx.CopyFromSlice(20000, func(i int) ([]any, error) { return []any{i}, nil }))
	if err != nil || n != 20000 {
		t.Fatalf("copied %d, error %v", n, err)
	}
	f.rows(20000)
	_, err = f.conn.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"id"}, pgx.CopyFromRows([][]any{{1}}))
	f.code(err, "23505")
	f.exec("SELECT 1")
}

// Two exchanges in progress at once, and a Flush without a Sync.
func TestPipelinesPass(t *testing.T) {
	f := begin(t)
	seen := make(chan string, 10)
	f.p.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
		if x.Commits() {
			seen <- strings.Join(x.Statements, ";")
		}
		return pgproxy.Pass()
	})
	pipeline := f.conn.PgConn().StartPipeline(t.Context())
	send := func(sql string) { pipeline.SendQueryParams(sql, nil, nil, nil, nil) }
	send("BEGIN")
	send("INSERT INTO t VALUES (1)")
	pipeline.SendPipelineSync()
	send("COMMIT")
	pipeline.SendPipelineSync()
	send("SELECT 1")
	pipeline.SendFlushRequest()
	if err := pipeline.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if _, err := pipeline.GetResults(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(pipeline.Sync(), pipeline.Close()); err != nil {
		t.Fatal(err)
	}
	f.rows(1)
	if got := <-seen; got != "COMMIT" || len(seen) > 0 {
		t.Errorf("what commits is %q, and %d more", got, len(seen))
	}
}

func TestCancelPasses(t *testing.T) {
	f := begin(t)
	running := func(want int) func() bool {
		return func() bool {
			var got int
			err := f.direct.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'`).Scan(&got)
			return err == nil && got == want
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.conn.Exec(ctx, "SELECT pg_sleep(60)", pgx.QueryExecModeExec)
		done <- err
	}()
	// A cancel request before the statement runs would have no effect.
	f.eventually("it runs", running(1))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	f.eventually("the statement has ended", running(0))
}

func TestDSN(t *testing.T) {
	f := begin(t)
	url := "postgres://postgres@example.com:1234/" + f.conn.Config().Database + "?application_name=x"
	conn := pgtest.Connect(t, f.p.DSN(url))
	var name string
	if err := conn.QueryRow(t.Context(), "SHOW application_name").Scan(&name); err != nil || name != "x" {
		t.Errorf("name %q, error %v", name, err)
	}
	if !strings.Contains(f.p.DSN(url), "postgres://postgres@/") {
		t.Errorf("DSN %s", f.p.DSN(url))
	}
}

func TestNotificationsPassOrNot(t *testing.T) {
	f := begin(t)
	f.exec("LISTEN channel")
	notify := func(payload string) {
		t.Helper()
		if _, err := f.direct.Exec(t.Context(), "SELECT pg_notify('channel', $1)", payload); err != nil {
			t.Fatal(err)
		}
	}
	wait := func() string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n, err := f.conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n.Payload
	}
	notify("a")
	if got := wait(); got != "a" {
		t.Errorf("got %q", got)
	}
	f.p.DropNotifications(true)
	notify("b")
	f.eventually("the second notification has arrived", func() bool { return f.p.Notifications() == 2 })
	f.p.DropNotifications(false)
	notify("c")
	if got := wait(); got != "c" {
		t.Errorf("got %q", got)
	}
}
