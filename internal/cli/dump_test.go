package cli_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// shell runs commands on stores in a folder.
type shell struct {
	t      *testing.T
	folder string
}

func newShell(t *testing.T) *shell { return &shell{t, t.TempDir()} }

func (s *shell) path(name string) string { return filepath.Join(s.folder, name) }

// try runs a command on the store in a file.
func (s *shell) try(store, stdin string, args ...string) outcome {
	s.t.Helper()
	args = append(args, "--store", "sqlite:"+s.path(store))
	return run(cli.Process{Args: args, Stdin: strings.NewReader(stdin), Environ: map[string]string{}})
}

// do runs a command that must succeed.
func (s *shell) do(store string, args ...string) string {
	s.t.Helper()
	o := s.try(store, "", args...)
	if o.code != 0 {
		s.t.Fatalf("%v: %s", args, o)
	}
	return o.stdout
}

// refused runs a command that must fail with a text.
func (s *shell) refused(store string, code int, says string, args ...string) {
	s.t.Helper()
	if o := s.try(store, "", args...); o.code != code || !strings.Contains(o.stderr, says) {
		s.t.Errorf("%v: %s; want exit code %d and %q", args, o, code, says)
	}
}

// populate makes some names: renamed, archived, held, in several namespaces, with characters that CSV
// and TSV have to quote.
func (s *shell) populate(store string) {
	s.t.Helper()
	for _, line := range []string{
		"claim slug ann --entity user/1", "rename slug anna --entity user/1", "rename slug hannah --entity user/1",
		"claim slug bob --entity user/2", "rename slug bobby --entity user/2", "archive --entity user/2",
		"claim acme.slug ann --entity team/1", "claim title A,\"b\" --entity page/1", "claim title Ünï --entity page/2",
		"reserve slug held --token 0123456789abcdef0123456789abcdef",
		"claim slug gone --entity user/3", "decommission slug gone --entity user/3",
	} {
		s.do(store, strings.Fields(line)...)
	}
}

// What was exported and imported again is the same: owners, aliases, archived entities and dates.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"csv", "tsv", "jsonl"} {
		s := newShell(t)
		s.populate("a.db")
		s.do("a.db", "export", s.path("a."+format))
		s.do("b.db", "import", s.path("a."+format))
		s.do("b.db", "export", s.path("b."+format))
		a, b := s.read("a."+format), s.read("b."+format)
		if a != b || !strings.Contains(a, "hannah") {
			t.Errorf("%s: exported\n%s\nafter an import\n%s", format, a, b)
		}
		for _, name := range []string{"ann", "anna", "bob"} {
			if want, got := s.do("a.db", "get", "slug", name, "--json"), s.do("b.db", "get", "slug", name, "--json"); stateOf(want) != stateOf(got) {
				t.Errorf("%s: %s\nwant\n%s", name, got, want)
			}
		}
	}
}

// stateOf returns the lines of an answer that an import keeps.
func stateOf(answer string) string {
	var kept []string
	for line := range strings.Lines(answer) {
		if strings.Contains(line, `"state"`) || strings.Contains(line, `"value"`) || strings.Contains(line, `"confirmedAt"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func (s *shell) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func TestExportFilters(t *testing.T) {
	t.Parallel()
	notRaced(t)
	s := newShell(t)
	s.populate("a.db")
	for args, want := range map[string]string{
		"":                               "ann hannah anna ann bob bobby",
		"--namespace slug":               "ann anna bob bobby hannah",
		"--entity-type team":             "ann",
		"--archived yes":                 "bob bobby",
		"--archived no --namespace slug": "ann anna hannah",
		"--prefix an --namespace slug":   "ann anna",
		"--state alias":                  "ann anna bob",
		"--state held":                   "held",
	} {
		out := s.do("a.db", append([]string{"export", "--format", "jsonl"}, strings.Fields(args)...)...)
		for name := range strings.FieldsSeq(want) {
			if !strings.Contains(out, `"value":"`+name+`"`) {
				t.Errorf("export %s: no %s in\n%s", args, name, out)
			}
		}
		if lines := strings.Count(out, "\n"); args != "" && lines != len(strings.Fields(want)) {
			t.Errorf("export %s: %d names, want %s\n%s", args, lines, want, out)
		}
	}
	s.refused("a.db", cli.ExitUsage, "use one of", "export", "--state", "lost")
	s.refused("a.db", cli.ExitUsage, "use yes or no", "export", "--archived", "maybe")
	s.refused("a.db", cli.ExitUsage, "--format csv, tsv or jsonl", "export", s.path("names.xls"))
	s.refused("none.db", cli.ExitNotFound, "there is no store", "export")
}

// A plan and its import read a query once: a second time it may have other rows, or the same in another order.
func TestPlanAndImportReadOneQuery(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	db, err := sql.Open("sqlite", s.path("users.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const users = 40
	_, err = db.ExecContext(t.Context(), fmt.Sprintf(`CREATE TABLE users (id, username);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO users SELECT i, 'quinn-' || i FROM n;
		INSERT INTO users VALUES (101, 'ann'), (102, 'ann')`, users))
	if err != nil {
		t.Fatal(err)
	}
	o := s.try("a.db", "", "import", "--from", "sqlite:"+s.path("users.db"), "--query", "SELECT id, username FROM users ORDER BY random()",
		"--namespace", "username", "--entity-type", "user", "--on-conflict", "skip")
	if names := strings.Count(s.do("a.db", "export", "--format", "jsonl"), "quinn-"); o.code != cli.ExitTaken || names != users {
		t.Errorf("%d names, want %d: %s", names, users, o)
	}
	if out := s.do("a.db", "check", "username", "ann"); !strings.Contains(out, "yes") {
		t.Errorf("a name that two rows want was given away: %s", out)
	}
}

// The file of lost rows takes the place of no database: neither of the source nor of the registry.
func TestLostRowsOverwriteNoDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.populate("a.db")
	s.do("b.db", "claim", "slug", "ann", "--entity", "user/1")
	source := []string{"import", "--from", "sqlite:" + s.path("a.db"), "--query", "SELECT 1 AS id, 'ann' AS slug", "--namespace", "slug", "--entity-type", "user", "--value", "slug"}
	for _, database := range []string{"a.db", "b.db"} {
		before := s.read(database)
		s.refused("b.db", cli.ExitUsage, "--lost would overwrite", append(source, "--lost", s.path(database))...)
		if s.read(database) != before {
			t.Errorf("%s was overwritten", database)
		}
	}
	config, routes := s.path("routes.toml"), fmt.Sprintf("[[routes]]\nname = \"acme\"\nscopes = [\"acme.*\"]\nstore = \"sqlite:%s\"\n", s.path("acme.db"))
	if err := os.WriteFile(config, []byte(routes), 0o600); err != nil {
		t.Fatal(err)
	}
	s.do("c.db", "claim", "acme.slug", "ann", "--entity", "user/1", "--config", config)
	s.refused("c.db", cli.ExitUsage, "--lost would overwrite", append(source, "--config", config, "--lost", s.path("acme.db"))...)
	if out := s.do("c.db", "get", "acme.slug", "ann", "--config", config); !strings.Contains(out, "user/1") {
		t.Errorf("the store of a route was overwritten: %s", out)
	}
}

// What is compared with nothing is not well.
func TestVerifyAgainstNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.populate("a.db")
	if err := os.WriteFile(s.path("none.csv"), []byte("id,slug\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.refused("a.db", cli.ExitUsage, "no rows", "verify", "--against", s.path("none.csv"), "--namespace", "slug", "--entity-type", "user", "--value", "slug")
	o := s.try("a.db", "", "verify", "--against", "postgres://shop:geheim@db/shop", "--namespace", "slug", "--entity-type", "user")
	if o.code != cli.ExitUsage || strings.Contains(o.stderr, "geheim") {
		t.Error(o)
	}
}

// An archived owner does not resolve. Where it has several names, an alias is left out rather than led astray.
func TestExportOfAnArchivedOwnerWithSeveralNames(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	config := s.path("dibs.toml")
	if err := os.WriteFile(config, []byte("[policies.page]\nmanyPerEntity = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"claim page alpha --entity user/1", "claim page beta --entity user/1", "rename page beta2 --entity user/1 --from beta",
		"rename page alpha2 --entity user/1 --from alpha", "archive --entity user/1",
	} {
		s.do("a.db", append(strings.Fields(line), "--config", config)...)
	}
	out := s.try("a.db", "", "export", "--config", config)
	if out.code != 0 || strings.Contains(out.stdout, "page,beta,") || !strings.Contains(out.stdout, "page,beta2,") || !strings.Contains(out.stderr, "2 aliases were left out") {
		t.Error(out)
	}
}

func TestDumpAndLoad(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.populate("a.db")
	if out := s.do("a.db", "dump", s.path("a.dibs")); !strings.Contains(out, "names") {
		t.Error(out)
	}
	s.do("b.db", "load", s.path("a.dibs"), "--cursors", s.path("cursors.csv"))
	if a, b := s.do("a.db", "events", "--json"), s.do("b.db", "events", "--json"); strings.Count(a, `"kind"`) != strings.Count(b, `"kind"`) {
		t.Errorf("%s\nwant\n%s", b, a)
	}
	if rows := strings.Count(s.read("cursors.csv"), "\n"); rows < 12 {
		t.Errorf("%d cursors", rows)
	}
	s.refused("b.db", cli.ExitRefused, "before it was loaded here", "events", "--after", "3")
	held := s.do("a.db", "get", "slug", "held", "--json")
	_, id, _ := strings.Cut(held, "res_")
	id = "res_" + id[:26]
	s.do("b.db", "confirm", id, "--token", "0123456789abcdef0123456789abcdef", "--entity", "user/9")

	s.refused("b.db", cli.ExitRefused, "not empty", "load", s.path("a.dibs"))
	s.refused("a.db", cli.ExitUsage, "exists", "dump", s.path("a.dibs"))
	s.refused("c.db", cli.ExitUsage, "no such file", "load", s.path("none"))
	if err := os.WriteFile(s.path("cut.dibs"), bytes.TrimRight([]byte(s.read("a.dibs")), "}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.refused("c.db", cli.ExitUsage, "cut off", "load", s.path("cut.dibs"))
	if _, err := os.Stat(s.path("c.db")); err == nil {
		t.Error("a bad archive has created a store")
	}
	if o := s.try("c.db", s.read("a.dibs"), "load", "-"); o.code != 0 {
		t.Errorf("from stdin: %s", o)
	}
	if info, err := os.Stat(s.path("a.dibs")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the archive: %v, %v", info.Mode(), err)
	}
}
