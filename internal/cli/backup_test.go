package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

func TestBackup(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, copied := "sqlite:"+filepath.Join(folder, "names.db"), filepath.Join(folder, "copy.db")
	step := func(code int, args ...string) outcome {
		t.Helper()
		o := run(cli.Process{Args: args, Getenv: func(string) string { return "" }})
		if o.code != code {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
		return o
	}
	// A missing store is an error, not an empty backup.
	step(2, "backup", copied, "--store", store)
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	step(0, "claim", "slug", "alice-bob", "--entity", "wedding/42", "--store", store)
	step(0, "backup", copied, "--store", store)
	if o := step(1, "backup", copied, "--store", store); !strings.Contains(o.stderr, "new file") {
		t.Errorf("a second one to the same file says %s", o.stderr)
	}
	if o := step(0, "resolve", "slug", "alice-bob", "--store", "sqlite:"+copied); !strings.Contains(o.stdout, "wedding/42") {
		t.Errorf("the copy says %s", o.stdout)
	}
	for _, other := range []string{"mem:", "postgres://localhost/names"} {
		step(2, "backup", filepath.Join(folder, "other.db"), "--store", other)
	}
	step(2, "backup", filepath.Join(folder, "other.db"), "--server", "http://127.0.0.1:1")
}
