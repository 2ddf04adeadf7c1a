package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// runSQL runs a script on a file with a connection of its own.
func runSQL(t *testing.T, path, script string) error {
	t.Helper()
	db := sql.OpenDB(connector(dsn(path, Config{BusyTimeout: 5_000_000_000})))
	defer db.Close()
	_, err := db.ExecContext(context.Background(), script)
	return err
}

func TestPragmasOnEveryConnection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTest(t)
	for name, conn := range map[string]*session{"writer": s.writer.another(), "reader": s.readers.another()} {
		for pragma, want := range map[string]driver.Value{"journal_mode": "wal", "synchronous": int64(2), "temp_store": int64(2)} {
			if got, err := readRow(ctx, conn, newStatement("PRAGMA "+pragma)); err != nil || got[0] != want {
				t.Errorf("%s: %s is %v (%v), want %v", name, pragma, got, err, want)
			}
		}
		err := conn.script(ctx, "DELETE FROM dibs_schema WHERE version < 0")
		if writes := err == nil; writes != (name == "writer") {
			t.Errorf("%s: writing gives %v", name, err)
		}
		if err := conn.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space.db", "a?b=c&mode=memory", "100%.db", "%41.db", "x#y", "ü 名.db", "a+b;c", ":memory:.db", "-"} {
		path := filepath.Join(t.TempDir(), name)
		s := openTest(t, path, Config{})
		mustCommit(t, s, insertGroup(heldName("a")))
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	newer := func(t *testing.T, path string) {
		s := openTest(t, path, Config{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := runSQL(t, path, "INSERT INTO dibs_schema VALUES (999, 1)"); err != nil {
			t.Fatal(err)
		}
	}
	script := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := runSQL(t, path, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		make   func(t *testing.T, path string)
		shared bool
		want   error
	}{
		"text":        {func(t *testing.T, path string) { write(t, path, strings.Repeat("no database\n", 100)) }, false, ErrNotDatabase},
		"short":       {func(t *testing.T, path string) { write(t, path, "x") }, true, ErrNotDatabase},
		"foreign":     {script("CREATE TABLE mine (x)"), false, ErrForeignDatabase},
		"foreign wal": {script("PRAGMA journal_mode = WAL; CREATE TABLE mine (x)"), false, ErrForeignDatabase},
		"utf-16":      {script("PRAGMA encoding = 'UTF-16'; CREATE TABLE mine (x)"), true, ErrForeignDatabase},
		"newer":       {newer, false, ErrNewerSchema},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "names.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			if _, err := Open(context.Background(), path, Config{Shared: c.shared}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenBadPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                                    "not the path of a file",
		":memory:":                            "memstore",
		"a\x00b":                              "not the path of a file",
		t.TempDir():                           "is a directory",
		filepath.Join(t.TempDir(), "no", "x"): "folder exists",
		os.DevNull:                            "not a regular file",
	} {
		_, err := Open(context.Background(), path, Config{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", path, err, want)
		}
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	if err := runSQL(t, path, "CREATE TABLE users (id); INSERT INTO users VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Config{Shared: true})
	mustCommit(t, s, insertGroup(heldName("a")))
	if err := runSQL(t, path, "UPDATE users SET id = 8"); err != nil {
		t.Fatal(err)
	}
	openTest(t, path, Config{}) // the file has tables of Dibs now
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	write(t, path, "") // an empty file is like a missing one
	s := openTest(t, path, Config{})
	n := heldName("a")
	mustCommit(t, s, insertGroup(n))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Load(context.Background(), nil)
	if !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, dibs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if got := mustLoad(t, openTest(t, path, Config{}), n.Ref()); len(got) != 1 {
		t.Errorf("reopened: %v", got)
	}
}

// The Go port of SQLite works only with the libc version that it was built for.
func TestLibcMatchesSqlite(t *testing.T) {
	t.Parallel()
	goList := func(format, module string) string {
		out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	theirs, err := os.ReadFile(goList("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	if ours := goList("{{.Path}} {{.Version}}", "modernc.org/libc"); !strings.Contains(string(theirs), ours+"\n") {
		t.Errorf("go.mod has %s, which is not the version in the go.mod of sqlite: update both together", ours)
	}
}
