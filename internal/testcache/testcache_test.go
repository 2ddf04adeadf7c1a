package testcache

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A folder is made once for each key, also by several processes at once, and never seen unfinished.
func TestFolder(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // macOS
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	broken := errors.New("broken")
	if _, err := Folder([]string{"a"}, func(folder string) error { return errors.Join(os.Mkdir(folder, 0o700), broken) }); !errors.Is(err, broken) {
		t.Fatalf("an error of fill: %v", err)
	}
	fill := func(folder string) error {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, "content"), []byte("all of it"), 0o600)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			folder, err := Folder([]string{"a"}, fill)
			if text, readErr := os.ReadFile(filepath.Join(folder, "content")); string(text) != "all of it" {
				t.Errorf("read %q: %v", text, errors.Join(err, readErr))
			}
		})
	}
	group.Wait()
	first, _ := Folder([]string{"a"}, func(string) error { t.Error("made again"); return nil })
	other, _ := Folder([]string{"b"}, fill)
	if rest, err := os.ReadDir(filepath.Dir(first)); first == other || len(rest) != 2 || err != nil {
		t.Errorf("%s and %s; the cache has %v, %v; want one folder for each key", first, other, rest, err)
	}
}

// What a killed process left is removed, and not what another process is making.
func TestAbandonedFolders(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // macOS
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	mkdir := func(folder string) error { return os.Mkdir(folder, 0o700) }
	first, err := Folder([]string{"a"}, mkdir)
	if err != nil {
		t.Fatal(err)
	}
	abandoned, busy := filepath.Join(filepath.Dir(first), "unfinished1"), filepath.Join(filepath.Dir(first), "unfinished2")
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := errors.Join(mkdir(abandoned), mkdir(busy), os.Chtimes(abandoned, yesterday, yesterday)); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder([]string{"b"}, mkdir); err != nil {
		t.Fatal(err)
	}
	if exists(abandoned) || !exists(busy) {
		t.Errorf("the abandoned folder is there: %v; that of another process: %v", exists(abandoned), exists(busy))
	}
}
