package figures_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

// Sources that have changed since the commit have another name, and what the long tests write does not change them.
func TestCommit(t *testing.T) {
	t.Chdir(t.TempDir())
	if commit, err := figures.Commit(); err == nil {
		t.Errorf("a folder without git has the commit %q", commit)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		if output, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, output)
		}
	}
	for _, path := range []string{"a.go", "bench/proof.json", "docs/testing.md"} {
		write(path, "old")
	}
	git("init", "-q")
	git("add", ".")
	git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a")
	for _, c := range []struct {
		path    string
		changed bool
	}{
		{"bench/proof.json", false},
		{"docs/testing.md", false},
		{"testdata/fuzz/FuzzA/1", false},
		{"profile/testdata/fuzz/FuzzA/1", false},
		{"a.go", true},
	} {
		write(c.path, "new")
		commit, err := figures.Commit()
		if short, changed := strings.CutSuffix(commit, "+"); err != nil || len(short) != 10 || changed != c.changed {
			t.Errorf("after a change of %s: %q, %v", c.path, commit, err)
		}
	}
}
