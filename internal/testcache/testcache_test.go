//go:build unix

package testcache

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A folder is made once for each key, also if several want it at once, and never seen unfinished.
func TestFolder(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // macOS
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	broken := errors.New("broken")
	if _, err := Folder([]string{"a"}, func(folder string) error { return errors.Join(os.Mkdir(folder, 0o700), broken) }); !errors.Is(err, broken) {
		t.Fatalf("an error of fill: %v", err)
	}
	var made atomic.Int64
	fill := func(folder string) error {
		made.Add(1)
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
	if n := made.Load(); n != 1 {
		t.Errorf("it was made %d times", n)
	}
	first, _ := Folder([]string{"a"}, func(string) error { t.Error("made again"); return nil })
	other, _ := Folder([]string{"b"}, fill)
	rest, err := os.ReadDir(filepath.Dir(first))
	rest = slices.DeleteFunc(rest, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".lock") })
	if first == other || len(rest) != 2 || err != nil {
		t.Errorf("%s and %s; the cache has %v, %v; want one folder for each key", first, other, rest, err)
	}
}

// What a killed process left is removed.
func TestUnfinishedFolder(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // macOS
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	left := func(folder string) string { return filepath.Join(folder, "left") }
	fill := func(folder string) error {
		return errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(left(folder), nil, 0o600))
	}
	folder, err := Folder([]string{"a"}, fill)
	if err == nil {
		err = os.Rename(folder, folder+".unfinished")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Folder([]string{"a"}, func(folder string) error { return os.Mkdir(folder, 0o700) }); err != nil || exists(left(folder)) {
		t.Errorf("%v; the old content is there: %v", err, exists(left(folder)))
	}
}
