package servetest_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/mariatest"
	"github.com/calldibs/dibs/internal/pgtest"
)

// sources are databases that can be killed, each with a query whose result does not fit into the
// buffers on its way: the server has not sent all of it before most of it is imported.
var sources = map[string]struct {
	start func(*testing.T) (url string, kill, restart func())
	query string
}{
	"PostgreSQL": {func(t *testing.T) (string, func(), func()) {
		c := pgtest.Start(t, pgtest.Options{})
		return c.DSN("postgres"), func() { c.Kill(t) }, func() { c.Restart(t) }
	}, `SELECT id, 'member-' || id AS username, repeat('x', 2000) AS padding FROM generate_series(1, 10000) id ORDER BY id`},
	"MariaDB": {func(t *testing.T) (string, func(), func()) {
		s := mariatest.Start(t)
		return s.URL(), s.Kill, func() { s.Restart(t) }
	}, `SELECT seq AS id, concat('member-', seq) AS username, repeat('x', 2000) AS padding FROM seq_1_to_10000 ORDER BY seq`},
}

// A database that is killed in the middle of an import stops it, with the row after which it did.
// When the database is back, another run finishes the import.
func TestImportSourceKilled(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, kill, restart := source.start(t)
			dir := t.TempDir()
			store := "sqlite:" + dir + "/names.db"
			w := watch(t, store)
			args := []string{
				"import", "--from", url, "--query", source.query, "--namespace", "username", "--entity-type", "user",
				"--on-conflict", "first", "--store", store,
			}
			p := start(t, dir, nil, args...)
			await(t, "some names are imported", func() bool { return w.read() >= 1000 })
			kill()
			if code := p.wait(t); code == cli.ExitOK {
				t.Fatal("the import ended before its source did")
			}
			for _, want := range []string{"after row ", "run the command again to go on"} {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("the import says %q, want %q", p.stderr.String(), want)
				}
			}
			before := w.read()
			restart()
			again := finish(t, dir, args...)
			if code := again.wait(t); code != cli.ExitOK {
				t.Fatalf("%d: %s", code, again.stderr.String())
			}
			if n := w.read(); n != 10000 || before == n {
				t.Errorf("%d names are imported, and %d before the source was back", n, before)
			}
			if _, err := w.Get(t.Context(), dibs.Lookup{Namespace: "username", Value: "member-10000"}); err != nil {
				t.Error(err)
			}
		})
	}
}
