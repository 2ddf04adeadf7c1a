package sqlitestore

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// modes returns the permissions of all files in a folder.
func modes(t *testing.T, folder string) map[string]os.FileMode {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions")
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]os.FileMode)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() {
			found[entry.Name()] = info.Mode().Perm()
		}
	}
	return found
}

func wantModes(t *testing.T, folder string, want os.FileMode, files ...string) {
	t.Helper()
	found := modes(t, folder)
	for _, name := range files {
		if found[name] != want {
			t.Errorf("%s has the mode %o, want %o", name, found[name], want)
		}
	}
	if len(found) != len(files) {
		t.Errorf("files %v, want %v", found, files)
	}
}

// Only the owner may read a new store, the files of SQLite beside it, and a backup: they contain names,
// digests of keys and secrets of webhooks.
func TestFilesBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	folder, copies := t.TempDir(), t.TempDir()
	s := openTest(t, filepath.Join(folder, "names.db"), Config{})
	mustCommit(t, s, insertGroup(heldName("a")))
	wantModes(t, folder, 0o600, "names.db", "names.db-wal", "names.db-shm")
	if err := s.Backup(t.Context(), filepath.Join(copies, "copy.db")); err != nil {
		t.Fatal(err)
	}
	wantModes(t, copies, 0o600, "copy.db")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantModes(t, folder, 0o600, "names.db")
}

// Open creates the file behind a dangling link, for its owner alone.
func TestFileBehindALink(t *testing.T) {
	t.Parallel()
	folder, links := t.TempDir(), t.TempDir()
	link := filepath.Join(links, "names.db")
	if err := os.Symlink(filepath.Join(folder, "names.db"), link); err != nil {
		t.Skip(err)
	}
	s := openTest(t, link, Config{})
	mustCommit(t, s, insertGroup(heldName("a")))
	wantModes(t, folder, 0o600, "names.db", "names.db-wal", "names.db-shm")
}

// The permissions of an existing file stay, with and without names in it. Its backup is for the owner
// alone.
func TestModeOfAnExistingFileStays(t *testing.T) {
	t.Parallel()
	folder, copies := t.TempDir(), t.TempDir()
	path := filepath.Join(folder, "names.db")
	write(t, path, "")
	if err := os.Chmod(path, 0o640); err != nil { // whatever the umask
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		s := openTest(t, path, Config{})
		mustCommit(t, s, insertGroup(heldName(name)))
		wantModes(t, folder, 0o640, "names.db", "names.db-wal", "names.db-shm")
		if err := s.Backup(t.Context(), filepath.Join(copies, name)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantModes(t, copies, 0o600, "a", "b")
}

// SQLite itself never creates the file: it would be readable by all.
func TestMissingFileIsNotCreated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := openTest(t, filepath.Join(folder, "names.db"), Config{})
	if err := os.Rename(filepath.Join(folder, "names.db"), filepath.Join(folder, "elsewhere.db")); err != nil {
		t.Skip(err) // it is open
	}
	conn := s.writer.another()
	defer conn.close()
	if err := conn.connect(t.Context()); err == nil {
		t.Error("it can be opened")
	}
	if _, found := modes(t, folder)["names.db"]; found {
		t.Error("there is a new file")
	}
}

// Concurrent Opens of one new file in this process keep their locks: closing a file drops all locks of
// the process on it.
func TestConcurrentCreate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "names.db")
	names := []string{"a", "b", "c", "d"}
	stores := make([]*Store, len(names))
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			var err error
			if stores[i], err = Open(t.Context(), path, Config{BusyTimeout: time.Minute}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	var refs []dibs.Ref
	for i, s := range stores {
		t.Cleanup(func() { _ = s.Close() })
		mustCommit(t, s, insertGroup(heldName(names[i])))
		refs = append(refs, heldName(names[i]).Ref())
	}
	if got := mustLoad(t, stores[0], refs...); len(got) != len(refs) {
		t.Errorf("%d names, want %d", len(got), len(refs))
	}
	wantModes(t, folder, 0o600, "names.db", "names.db-wal", "names.db-shm")
}
