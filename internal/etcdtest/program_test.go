//go:build unix

package etcdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The program is etcd. It is built again if one of its files has changed, and only then.
func TestProgram(t *testing.T) {
	t.Parallel()
	version := exec.Command(Program(t), "--version")
	if _, err := version.StdinPipe(); err != nil { // it ends with its input
		t.Fatal(err)
	}
	if out, err := version.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "etcd Version: ") {
		t.Errorf("it prints %q, %v", out, err)
	}
	changed := t.TempDir()
	if err := os.CopyFS(changed, os.DirFS("member")); err != nil {
		t.Fatal(err)
	}
	keyOf := func(source string) []string {
		t.Helper()
		key, err := memberKey(source)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	key := keyOf("member")
	if !slices.Equal(keyOf(changed), key) {
		t.Error("a copy of the source has another key")
	}
	files, err := os.ReadDir(changed)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		path := filepath.Join(changed, file.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, "// changed\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(keyOf(changed), key) {
			t.Errorf("a change of %s leaves the key as it is", file.Name())
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
