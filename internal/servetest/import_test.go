package servetest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/pgtest"
)

// importing is an import of one file into one store, as often as a test wants.
type importing struct {
	*testing.T
	dir  string
	args []string
}

// newImport writes the file. The store has some of its names already, for other owners.
func newImport(t *testing.T, store string, rows int, args ...string) *importing {
	t.Helper()
	i := &importing{t, t.TempDir(), append([]string{"import", "users.csv", "--namespace", "username", "--entity-type", "user", "--store", store}, args...)}
	writeFile(t, i.dir, "users.csv", importFile(rows))
	writeFile(t, i.dir, "others.csv", "id,username,created_at\n9000001,member-00100,2019-01-01\n9000002,popular-4,2019-01-01\n")
	before := finish(t, i.dir, "import", "others.csv", "--namespace", "username", "--entity-type", "user", "--store", store)
	if before.wait(t) != cli.ExitOK {
		t.Fatal(before.stderr.String())
	}
	return i
}

// importFile returns a CSV that takes several batches, with names that many rows want, values that
// are not valid, aliases before the names that they lead to, and archived owners.
func importFile(rows int) string {
	var csv strings.Builder
	csv.WriteString("id,username,alias_of,archived,created_at\n")
	for i := range rows {
		name := fmt.Sprintf("member-%05d", i)
		switch {
		case i%50 == 7:
			name = []string{"popular", "Popular", "POPULAR"}[i%3]
		case i%97 == 3:
			name = "two words"
		case i == rows*3/4:
			name = "popular-3" // which an earlier row has, with a number
		}
		since := fmt.Sprintf("2020-%02d-%02d", i%12+1, i%28+1)
		if i%31 == 5 {
			fmt.Fprintf(&csv, "%d,old-%s,%s,,%s\n", i, name, name, since)
		}
		fmt.Fprintf(&csv, "%d,%s,,%t,%s\n", i, name, i%40 == 0, since)
	}
	return csv.String()
}

func (i *importing) start() *process { i.Helper(); return start(i.T, i.dir, nil, i.args...) }

// mustEnd runs the import to its end, which loses some rows.
func (i *importing) mustEnd() *process {
	i.Helper()
	p := i.start()
	for range 5 { // on a busy machine a commit may take too long
		if p.wait(i.T) != cli.ExitUnavailable {
			break
		}
		p = i.start()
	}
	if code := p.wait(i.T); code != cli.ExitTaken {
		i.Fatalf("the import ends with %d: %s", code, p.stderr.String())
	}
	return p
}

// watched is a store beside the imports that write it.
type watched struct {
	*testing.T
	*dibs.Registry
	events []string // so far
	cursor dibs.Cursor
}

func watch(t *testing.T, address string) *watched {
	t.Helper()
	store, err := engine.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	return &watched{T: t, Registry: registry}
}

// read reads new events, and returns how many there are by now.
func (w *watched) read() int {
	w.Helper()
	for {
		page, err := w.Events(w.Context(), dibs.FeedQuery{After: w.cursor, Limit: 1000})
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range page.Events {
			at := e.At.String()
			if e.Kind == dibs.EventArchived {
				at = "" // when the import archived it
			}
			w.events = append(w.events, fmt.Sprint(e.Kind, e.Key(), e.Value, e.Rev, e.Epoch, e.Entity, e.Version, e.After.State, at))
		}
		if w.cursor = page.Next; !page.More {
			return len(w.events)
		}
	}
}

// contents returns everything that happened to each name and entity, in an order that does not
// depend on who came first.
func (w *watched) contents() []string {
	w.Helper()
	w.read()
	return slices.Sorted(slices.Values(w.events))
}

func mustHaveSame(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("there are %d events, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s, want %s", got[i], want[i])
		}
	}
}

// importTargets return an empty store of each kind that imports are tested with.
var importTargets = map[string]func(*testing.T) string{
	"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "names.db") },
	"PostgreSQL": func(t *testing.T) string { return newSchema(t, pgtest.Shared(t)) },
}

// An import that is killed at many points, and begun again each time, ends in the state of one that
// was not killed.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for _, c := range []struct{ engine, onConflict string }{
		{"SQLite", "first"}, {"SQLite", "suffix"}, {"SQLite", "skip"}, {"PostgreSQL", "suffix"},
	} {
		t.Run(c.engine+" "+c.onConflict, func(t *testing.T) {
			t.Parallel()
			killImports(t, importTargets[c.engine], c.onConflict)
		})
	}
}

func killImports(t *testing.T, newStore func(*testing.T) string, onConflict string) {
	t.Helper()
	const rows, kills = 2600, 3
	store := newStore(t)
	newImport(t, store, rows, "--on-conflict", onConflict).mustEnd()
	want := watch(t, store).contents()

	var i *importing
	var w *watched
	interrupted := 0
	for try := 0; interrupted < 2; try++ { // on a busy machine an import may end before it is killed
		if try == 5 {
			t.Fatalf("only %d of %d imports were killed before they ended", interrupted, kills)
		}
		store = newStore(t)
		i, w = newImport(t, store, rows, "--on-conflict", onConflict), watch(t, store)
		interrupted = i.interrupt(w, len(want), kills)
	}
	i.mustEnd()
	mustHaveSame(t, w.contents(), want)
	if again := i.mustEnd(); !strings.Contains(again.stdout.String(), "nothing has changed") {
		t.Errorf("a second run says %s", again.stdout.String())
	}
	mustHaveSame(t, w.contents(), want)
}

// interrupt begins the import repeatedly, and kills it when a part of all events is there. It returns how many imports did not end
// before that.
func (i *importing) interrupt(w *watched, all, kills int) (interrupted int) {
	i.Helper()
	for kill := range kills {
		p, enough := i.start(), all*(kill+1)/(kills+1)
		await(i.T, "the import goes on", func() bool {
			select {
			case <-p.ended:
				return true
			default:
				return w.read() >= enough
			}
		})
		if p.kill(i.T); w.read() < all {
			interrupted++
		}
	}
	return interrupted
}

// leftIn returns what is in a folder.
func leftIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
