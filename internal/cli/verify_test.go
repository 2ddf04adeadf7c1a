package cli_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to damage a store

	"github.com/calldibs/dibs/internal/cli"
)

// TestVerifyFindsDamage checks what a terminal and a program see of a damaged store.
func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dibs.db")
	dibs := func(args ...string) outcome {
		return run(cli.Process{Args: append(args, "--store", "sqlite:"+file), Environ: map[string]string{}})
	}
	for _, args := range [][]string{{"claim", "slug", "ann", "--entity", "user/1"}, {"claim", "slug", "bob", "--entity", "user/2"}} {
		if o := dibs(args...); o.code != 0 {
			t.Fatal(o)
		}
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE dibs_names SET owner_id = '3' WHERE canonical = 'ann'; DELETE FROM dibs_entities WHERE entity_id = '2'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o := dibs("verify")
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
	o = dibs("verify", "--json")
	if o.code != cli.ExitFindings || !strings.Contains(o.stdout, `{"event":"finding","detail":{"check":"owner","namespace":"slug","name":"bob"`) ||
		!strings.Contains(o.stdout, `{"event":"done","detail":{"at":`) || o.stderr != "" {
		t.Errorf("with --json: %s", o)
	}
	if o = dibs("verify", "--show", "1"); !strings.Contains(o.stdout, "more: --show or --json shows them") {
		t.Errorf("with --show 1: %s", o)
	}
}
