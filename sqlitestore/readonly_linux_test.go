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

// A file without write permission, from a store that was closed and from one that was killed, which
// has left the files beside it. Root may write every file, so a thread of its own drops that
// capability.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	mustCommit(t, s, insertGroup(heldName("a")))
	killed := filepath.Join(t.TempDir(), "names.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		content, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(killed+suffix, content, 0o444)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, killed} {
		mustRefuseReadOnly(t, path)
	}
}

func mustRefuseReadOnly(t *testing.T, path string) {
	t.Helper()
	dir := filepath.Dir(path)
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
