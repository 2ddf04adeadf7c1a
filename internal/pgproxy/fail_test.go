package pgproxy_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/pgproxy"
)

var transaction = []string{
	"BEGIN ISOLATION LEVEL READ COMMITTED",
	"INSERT INTO t VALUES (1)",
	"INSERT INTO t SELECT count(*) + 1 FROM t RETURNING id",
	"COMMIT",
}

func TestFailAtEachStatementOfATransaction(t *testing.T) {
	t.Parallel()
	for i, statement := range transaction {
		t.Run(statement, func(t *testing.T) {
			f := begin(t)
			// A batch is prepared in a separate exchange.
			f.p.SetHook(pgproxy.Once(pgproxy.SQL("^COMMIT"), pgproxy.Fail(i, "40001")))
			f.code(f.batch(transaction...), "40001")
			f.rows(0)
			switch i {
			case 0, len(transaction) - 1:
				f.status('I')
			default:
				f.status('E')
				_, err := f.conn.Exec(t.Context(), "SELECT 1")
				f.code(err, "25P02")
				f.exec("ROLLBACK")
			}
			if err := f.batch(transaction...); err != nil {
				t.Fatal(err)
			}
			f.rows(2)
			f.status('I')
		})
	}
}

// The client gets the results of the statements before the failure.
func TestFailKeepsTheResultsBefore(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.FailStatement("^COMMIT", "40P01"))
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue("INSERT INTO t VALUES (7) RETURNING id")
	b.Queue("COMMIT")
	results := f.conn.SendBatch(t.Context(), b)
	_, err := results.Exec()
	if err != nil {
		t.Fatal(err)
	}
	var id int
	if err := results.QueryRow().Scan(&id); err != nil || id != 7 {
		t.Fatalf("id %d, error %v", id, err)
	}
	_, err = results.Exec()
	f.code(err, "40P01")
	f.code(results.Close(), "40P01")
	f.rows(0)
}

func TestFailOfACommitInASeparateExchange(t *testing.T) {
	eachMode(t, func(t *testing.T, f *fixture, mode pgx.QueryExecMode) {
		f.p.SetHook(pgproxy.FailStatement("(?i)^commit", "40001"))
		f.exec("BEGIN", mode)
		f.exec("INSERT INTO t VALUES (1)", mode)
		f.status('T')
		_, err := f.conn.Exec(t.Context(), "COMMIT", mode)
		f.code(err, "40001")
		f.stillWorks(mode)
	})
}

func TestFailOfAStatement(t *testing.T) {
	eachMode(t, func(t *testing.T, f *fixture, mode pgx.QueryExecMode) {
		f.p.SetHook(pgproxy.FailStatement("^INSERT", "55P03"))
		_, err := f.conn.Exec(t.Context(), "INSERT INTO t VALUES (1)", mode)
		f.code(err, "55P03")
		f.stillWorks(mode)
	})
}

func TestFailCommitOutsideOfATransaction(t *testing.T) {
	eachMode(t, func(t *testing.T, f *fixture, mode pgx.QueryExecMode) {
		f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.FailCommit("40001")))
		rows, err := f.conn.Query(t.Context(), "INSERT INTO t VALUES (1), (2) RETURNING id -- two", mode)
		if err != nil {
			t.Fatal(err)
		}
		ids := 0
		for rows.Next() {
			ids++
		}
		f.code(rows.Err(), "40001")
		if ids != 2 {
			t.Errorf("%d rows before the error, want 2", ids)
		}
		f.stillWorks(mode)
	})
}

func TestFailCommitOfABatch(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"explicit": transaction,
		"implicit": transaction[1:3],
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.FailCommit("40001")))
			f.code(f.batch(statements...), "40001")
			f.status('I')
			f.rows(0)
			if err := f.batch(statements...); err != nil {
				t.Fatal(err)
			}
			f.rows(2)
		})
	}
}

// An error of the server wins over a later injected one.
func TestFailAfterARealError(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Always((*pgproxy.Exchange).Commits, pgproxy.FailCommit("40001")))
	f.code(f.batch("BEGIN", "INSERT INTO t VALUES (1 / (SELECT count(*) FROM t))", "COMMIT"), "22012")
	f.status('E')
	f.p.SetHook(nil)
	f.exec("ROLLBACK")
	f.rows(0)
}

func TestNth(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Nth(3, pgproxy.SQL("^INSERT"), pgproxy.Fail(0, "40001")))
	for i := range 5 {
		_, err := f.conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d)", i), pgx.QueryExecModeExec)
		if i == 2 {
			f.code(err, "40001")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	f.rows(4)
}

// A simple query commits before it completes its last statement.
func TestFailCommitOfASimpleQueryHidesTheLastResult(t *testing.T) {
	f := begin(t)
	f.p.SetHook(pgproxy.Once((*pgproxy.Exchange).Commits, pgproxy.FailCommit("40001")))
	results, err := f.conn.PgConn().Exec(t.Context(), "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)").ReadAll()
	f.code(err, "40001")
	if len(results) != 1 {
		t.Errorf("%d results before the error, want 1", len(results))
	}
	f.rows(0)
}
