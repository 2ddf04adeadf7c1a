package sqlitestore

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A file without write permission. Root may write every file, so a thread of its own drops that
// capability.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "names.db")
	s := openTest(t, path, Config{})
	mustCommit(t, s, insertGroup(heldName("a")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for p, mode := range map[string]os.FileMode{path: 0o444, dir: 0o555, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				opened <- err
				return
			}
		}
		_, err := Open(context.Background(), path, Config{})
		opened <- err
	}()
	if err := <-opened; err == nil || !strings.Contains(err.Error(), "writ") {
		t.Errorf("got %v, want an error that says to make it writable", err)
	} else {
		t.Log(err)
	}
	if after, _ := os.ReadFile(path); string(before) != string(after) {
		t.Error("the file has changed")
	}
}
