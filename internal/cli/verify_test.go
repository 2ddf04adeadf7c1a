package cli_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to damage a store

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

// TestVerifyFindsDamage checks what a terminal and a program see of a damaged store.
func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	notRaced(t)
	file := filepath.Join(t.TempDir(), "dibs.db")
	command := func(args ...string) outcome {
		return run(cli.Process{Args: append(args, "--store", "sqlite:"+file), Environ: map[string]string{}})
	}
	for _, args := range [][]string{{"claim", "slug", "ann", "--entity", "user/1"}, {"claim", "slug", "bob", "--entity", "user/2"}} {
		if o := command(args...); o.code != 0 {
			t.Fatal(o)
		}
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE dibs_names SET owner_id = '3', sum = NULL WHERE canonical = 'ann'; DELETE FROM dibs_entities WHERE entity_id = '2'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o := command("verify")
	if o.code != cli.ExitFindings {
		t.Errorf("exit code %d", o.code)
	}
	for _, want := range []string{
		"slug:ann replay  the row is not what its events give", "    found     active (confirmed), epoch 1, of user/3", "    expected  active (confirmed), epoch 1, of user/1",
		"slug:bob owner  its owner has no record", "Checked 2 names, 1 entity and 2 events", "findings:", "Nothing was changed.",
	} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
	if t.Failed() {
		t.Log(o)
	}
	o = command("verify", "--json")
	if o.code != cli.ExitFindings || !strings.Contains(o.stdout, `{"event":"finding","detail":{"check":"owner","namespace":"slug","name":"bob"`) ||
		!strings.Contains(o.stdout, `{"event":"done","detail":{"at":`) || o.stderr != "" {
		t.Errorf("with --json: %s", o)
	}
	if o = command("verify", "--show", "1"); !strings.Contains(o.stdout, "more: --show or --json shows them") {
		t.Errorf("with --show 1: %s", o)
	}
}

// TestVerifyNamesAllDamage checks that a file which no other command opens is looked at, and that all
// damaged rows are named in one run.
func TestVerifyNamesAllDamage(t *testing.T) {
	t.Parallel()
	notRaced(t)
	file := filepath.Join(t.TempDir(), "dibs.db")
	command := func(args ...string) outcome {
		return run(cli.Process{Args: append(args, "--store", "sqlite:"+file), Environ: map[string]string{}})
	}
	for _, name := range []string{"ann", "bob", "carl"} {
		if o := command("claim", "slug", name, "--entity", "user/"+name); o.code != 0 {
			t.Fatal(o)
		}
	}
	damage := func(statements string) {
		t.Helper()
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(statements); err != nil {
			t.Fatal(err)
		}
	}
	damage("UPDATE dibs_names SET owner_id = 'eve' WHERE canonical IN ('ann', 'bob'); UPDATE dibs_events SET at = at + 1 WHERE seq = 3")
	named := []string{
		"slug:ann damaged  row 1 of dibs_names is not as it was written", "slug:bob damaged  row 2 of dibs_names is not as it was written",
		"slug:carl damaged  event 3 is not as it was written", "    record    event 3", "slug:ann replay ", "  3 damaged  the engine refuses to serve it",
	}
	check := func(want ...string) {
		t.Helper()
		o := command("verify")
		if o.code != cli.ExitFindings {
			t.Errorf("exit code %d: %s", o.code, o)
		}
		for _, text := range want {
			if !strings.Contains(o.stdout, text) {
				t.Errorf("%q is not in the output: %s", text, o)
			}
		}
	}
	check(named...)
	if o := command("dump", file+".dibs"); o.code == 0 || !strings.Contains(o.stderr, "is not as it was written") {
		t.Errorf("a dump of damaged rows: %s", o)
	}
	if o := command("get", "slug", "bob"); o.code == 0 || !strings.Contains(o.stderr, "no retry helps: restore a backup") {
		t.Errorf("a damaged row: %s", o)
	}

	damage("PRAGMA ignore_check_constraints = 1; UPDATE dibs_names SET status = 'reserved' WHERE canonical = 'carl'")
	for _, args := range [][]string{{"get", "slug", "bob"}, {"dump", file + ".dibs"}} {
		if o := command(args...); o.code == 0 || !strings.Contains(o.stderr, "the file is damaged") {
			t.Errorf("%v of a damaged file: %s", args, o)
		}
	}
	check(append(named[:4], "the file file  CHECK constraint failed in dibs_names", "slug:carl damaged  row 3 of dibs_names")...)
	if o := command("verify", "--json"); o.code != cli.ExitFindings || strings.Count(o.stdout, `"check":"damaged"`) != 4 || o.stderr != "" {
		t.Errorf("with --json: %s", o)
	}
}

// TestVerifyAgainstAFileOverHTTP compares a server with a file, and imports what is missing through it.
func TestVerifyAgainstAFileOverHTTP(t *testing.T) {
	t.Parallel()
	notRaced(t)
	store := memstore.New(memstore.Config{})
	registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = registry.Close() }()
	url := serve(t, server.Config{Registry: registry, Store: store}, "the-key-of-the-test")
	file := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(file, []byte("id,username\n1,ann\n2,bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	compare := func(key string, args ...string) outcome {
		args = append([]string{"verify", "--server", url, "--key", key, "--against", file, "--namespace", "username", "--entity-type", "user"}, args...)
		return run(cli.Process{Args: args, Environ: map[string]string{}})
	}
	if o := compare("another-key"); o.code == 0 || o.code == cli.ExitFindings {
		t.Errorf("with another key it did verify: %s", o)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cli.ExitFindings, "2 differences: 2 missing."},
		{[]string{"--fix", "--yes"}, 0, "2 names imported"},
		{nil, 0, "All is well: no differences."},
	} {
		if o := compare("the-key-of-the-test", c.args...); o.code != c.code || !strings.Contains(o.stdout, c.want) {
			t.Errorf("%v: want exit code %d and %q: %s", c.args, c.code, c.want, o)
		}
	}
}
