package pgproxy

import "testing"

func TestCommits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     byte
		statements []string
		want       bool
	}{
		{'I', nil, false},
		{'I', []string{"SELECT 1"}, false},
		{'I', []string{"SELECT 1", "insert into t values (1)"}, true},
		{'I', []string{"/* x */ -- y\n UPDATE t SET id = 1"}, true},
		{'I', []string{"DELETE FROM t"}, true},
		{'I', []string{"CREATE TABLE u ()"}, true},
		{'I', []string{"WITH a AS (SELECT id FROM t FOR UPDATE) SELECT * FROM a"}, false},
		{'I', []string{"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a"}, true},
		{'I', []string{"WITH a AS MATERIALIZED ( DELETE FROM t RETURNING id) SELECT * FROM a"}, true},
		{'I', []string{"BEGIN", "INSERT INTO t VALUES (1)"}, false},
		{'I', []string{"BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"}, true},
		{'I', []string{"BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK"}, false},
		{'I', []string{"BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK", "INSERT INTO t VALUES (1)"}, true},
		{'I', []string{"INSERT INTO t VALUES (1)", "BEGIN"}, false},
		{'I', []string{"BEGIN; INSERT INTO t VALUES (';'); END"}, true},
		{'I', []string{"COMMIT"}, false},
		{'I', []string{"SELECT 'x; INSERT INTO t'"}, false},
		{'T', []string{"INSERT INTO t VALUES (1)"}, false},
		{'T', []string{"commit"}, true},
		{'T', []string{"ROLLBACK TO a", "COMMIT"}, true},
		{'T', []string{"ROLLBACK"}, false},
		{'E', []string{"COMMIT"}, false},
		{'E', []string{"ROLLBACK", "DELETE FROM t"}, true},
	} {
		x := &Exchange{status: c.status, Statements: c.statements}
		if got := x.Commits(); got != c.want {
			t.Errorf("%c %q commits: %t, want %t", c.status, c.statements, got, c.want)
		}
	}
}
