package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
)

// newCreation returns a registry on a file that is filled, and the path of the file.
func newCreation(t *testing.T) (*Store, *dibs.Registry, string) {
	t.Helper()
	return newCreationIn(t, t.TempDir())
}

func newCreationIn(t *testing.T, folder string) (*Store, *dibs.Registry, string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "names.db")
	store, err := Create(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	return store, registry, path
}

// fill imports users, of which every tenth has the name of the one before.
func fill(t *testing.T, registry *dibs.Registry, from, to int) (lost int) {
	t.Helper()
	var request dibs.ImportRequest
	for i := from; i < to; i++ {
		request.Imports = append(request.Imports, dibs.Import{
			Namespace: "username", Value: fmt.Sprintf("member-%05d", i-i%10/9), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)},
		})
	}
	answers, err := registry.ImportAll(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Err != nil {
			lost++
		}
	}
	return lost
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// contents returns the names and events of a registry.
func contents(t *testing.T, registry *dibs.Registry) (all []string) {
	t.Helper()
	for query := (dibs.NamesQuery{Limit: 500}); ; {
		page, err := registry.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Names {
			all = append(all, fmt.Sprint(n.Key(), n.State, n.Entity, n.Epoch))
		}
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	for query := (dibs.FeedQuery{Limit: 500}); ; {
		page, err := registry.Events(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			all = append(all, fmt.Sprint(e.Kind, e.Key(), e.Entity, e.Rev))
		}
		if query.After = page.Next; !page.More {
			return all
		}
	}
}

// A file that is filled by Create is what Open would have made of the same imports, whether listings
// came between them or not: rows, events, schema and pages.
func TestCreate(t *testing.T) {
	t.Parallel()
	store, registry, path := newCreation(t)
	if lost := fill(t, registry, 0, 1500); lost != 150 {
		t.Errorf("%d rows were lost, want 150", lost)
	}
	if len(store.creation.dropped) == 0 {
		t.Error("the import keeps all indexes")
	}
	if n := len(contents(t, registry)); n != 2*1350 {
		t.Errorf("%d names and events in the middle, want 2700", n)
	}
	fill(t, registry, 1500, 3000)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there before it is published: %v", err)
	}
	store.Publish()
	if err := registry.Close(); err != nil {
		t.Fatal(err)
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("there is %v, want the file alone", names)
	}

	other, err := Open(t.Context(), filepath.Join(t.TempDir(), "other.db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := embedded.Open(other, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = want.Close() }()
	fill(t, want, 0, 1500)
	fill(t, want, 1500, 3000)
	created, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := embedded.Open(created, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Close() }()
	if g, w := contents(t, got), contents(t, want); fmt.Sprint(g) != fmt.Sprint(w) {
		t.Errorf("%d names and events, want %d", len(g), len(w))
	}
	if g, w := schemaOf(t, created), schemaOf(t, other); g != w {
		t.Errorf("the schema is\n%s\nwant\n%s", g, w)
	}
	if result, err := onWriter(created, integrityCheck); err != nil || result != "ok" {
		t.Error(result, err)
	}
	if mode, err := onWriter(created, newStatement("PRAGMA journal_mode")); err != nil || mode != "wal" {
		t.Error(mode, err)
	}
	fill(t, got, 3000, 3600) // as in any other file
}

func schemaOf(t *testing.T, s *Store) string {
	t.Helper()
	text, err := onWriter(s, newStatement(`SELECT group_concat(name || ' ' || coalesce(sql, ''), char(10)) FROM (SELECT * FROM sqlite_schema ORDER BY name)`))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// onWriter returns the first value of a statement on the connection that writes.
func onWriter(s *Store, st *statement) (string, error) {
	conn := <-s.writer.idle
	defer s.writer.put(conn)
	row, err := readRow(context.Background(), conn, st)
	if err != nil {
		return "", err
	}
	return asText(row[0]), nil
}

// A file that is not published leaves nothing.
func TestCreateWithoutPublish(t *testing.T) {
	t.Parallel()
	_, registry, path := newCreation(t)
	fill(t, registry, 0, 1000)
	if err := registry.Close(); err != nil {
		t.Error(err)
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

// After an error of SQLite the file cannot be trusted: nothing is published, and Close says so.
func TestCreateAfterAnError(t *testing.T) {
	t.Parallel()
	store, registry, path := newCreation(t)
	fill(t, registry, 0, 1000)
	if _, err := onWriter(store, newStatement("SELECT json('no JSON')")); err == nil {
		t.Fatal("the statement succeeds")
	}
	_, err := registry.ImportAll(t.Context(), dibs.ImportRequest{Imports: []dibs.Import{{Namespace: "username", Value: "late", Entity: dibs.Entity{Type: "user", ID: "x"}}}})
	if refused, ok := errors.AsType[*dibs.Error](err); !ok || refused.Code != dibs.CodeUnavailable {
		t.Errorf("an import after the error: %v", err)
	}
	store.Publish()
	if err := registry.Close(); err == nil {
		t.Error("Close reports no error")
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

// Create replaces no file, neither one that was there nor one that another process made meanwhile.
func TestCreateReplacesNothing(t *testing.T) {
	t.Parallel()
	store, registry, path := newCreation(t)
	fill(t, registry, 0, 1000)
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	store.Publish()
	if err := registry.Close(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Close: %v, want %v", err, fs.ErrExist)
	}
	if _, err := Create(t.Context(), path, Config{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create: %v, want %v", err, fs.ErrExist)
	}
	if text, err := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("there is %v, want the file alone", names)
	}
}

// SQLite takes a log beside a new file for the log of that file. Create, Publish and Backup put no complete
// file beside one: the first Open would write the old pages over it.
func TestNewFileBesideAnOldLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	old := openTest(t, path, Config{})
	mustCommit(t, old, insertGroup(heldName("old")))
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		path = filepath.Join(t.TempDir(), "names.db")
		leave := func() {
			t.Helper()
			if err := os.WriteFile(path+suffix, log, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, ErrOldWAL) || !strings.Contains(err.Error(), "names.db"+suffix) {
				t.Errorf("%s: %v, want an error that names the log", what, err)
			}
			if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
				t.Errorf("%s: there is %v, want the log alone", what, names)
			}
		}
		leave()
		_, err := Create(t.Context(), path, Config{})
		refused("Create", err)
		refused("Backup", old.Backup(t.Context(), path))
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
		store, err := Create(t.Context(), path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, store, insertGroup(heldName("new")))
		leave() // another process has made a file and removed it meanwhile
		store.Publish()
		refused("Publish", store.Close())
		opened := openTest(t, path, Config{}) // begins with an empty file, of which SQLite ignores the log
		mustCommit(t, opened, insertGroup(heldName("new")))
		if left := mustLoad(t, opened, heldName("old").Ref(), heldName("new").Ref()); len(left) != 1 {
			t.Errorf("Open beside the log: it has %d records, want the new one", len(left))
		}
	}
}

// While a file is published, a second Create for the same path does not take it for an abandoned one.
func TestCreateLeavesWhatIsPublished(t *testing.T) {
	t.Parallel()
	for range 3 {
		store, registry, path := newCreation(t)
		fill(t, registry, 0, 2000)
		store.Publish()
		closed := make(chan error)
		go func() { closed <- registry.Close() }()
		for open := true; open; {
			second, err := Create(t.Context(), path, Config{})
			if err == nil {
				err = second.Close()
			}
			if err != nil && !errors.Is(err, fs.ErrExist) {
				t.Errorf("the second Create: %v", err)
			}
			select {
			case err := <-closed:
				if open = false; err != nil {
					t.Fatalf("the imported file is lost: %v", err)
				}
			default:
			}
		}
		if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
			t.Errorf("there is %v, want the file alone", names)
		}
	}
}

// Create removes what a process has left that died, but not what another one is filling.
func TestCreateRemovesTheAbandoned(t *testing.T) {
	t.Parallel()
	store, registry, path := newCreationIn(t, filepath.Join(t.TempDir(), "a[b]*")) // which is no pattern
	fill(t, registry, 0, 1000)
	abandoned := path + tempMark + "1"
	for _, file := range []string{abandoned, path + tempMark[:1] + "other"} {
		if err := os.WriteFile(file, []byte("a part of a file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second, err := Create(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(abandoned); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the abandoned file: %v", err)
	}
	store.Publish()
	if err := registry.Close(); err != nil {
		t.Error(err)
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) != 2 {
		t.Errorf("there is %v, want the file and the one that has nothing to do with it", names)
	}
}

// A filter never denies a record that was added, and most that were not.
func TestFilter(t *testing.T) {
	t.Parallel()
	const records = 200_000
	id := func(i int) dibs.ID { return dibs.NameID("username", fmt.Sprint(i)) }
	f := newFilter()
	for i := range records {
		f.addAll([]dibs.Write{{Record: &dibs.NameRecord{ID: id(i)}}})
	}
	for i := range records {
		if !f.mayHave(id(i)) {
			t.Fatalf("the filter denies record %d", i)
		}
	}
	wrong := 0
	for i := range records {
		if f.mayHave(id(records + i)) {
			wrong++
		}
	}
	if wrong > records/1000 {
		t.Errorf("the filter takes %d of %d absent records for present ones", wrong, records)
	}
}
