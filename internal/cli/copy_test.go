package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// The command that "dibs copy" prints opens the copy. Callers of the old store do not see its
// address, and the old store cannot be copied to a second place.
func TestCopySaysWhereTheRegistryIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := "sqlite:"+filepath.Join(dir, "old.db"), "sqlite:"+filepath.Join(dir, "new & better.db")
	dibs := func(args ...string) outcome { return run(cli.Process{Args: args, Environ: map[string]string{}}) }
	if o := dibs("claim", "slug", "alice", "--entity", "user/1", "--store", from); o.code != 0 {
		t.Fatal(o)
	}
	o := dibs("copy", "--from", from, "--to", to, "--yes")
	_, command, found := strings.Cut(o.stdout, "\n  dibs serve ")
	if command, _, _ = strings.Cut(command, "\n"); o.code != 0 || !found {
		t.Fatal(o)
	}
	if o := dibs(append([]string{"resolve", "slug", "alice"}, words(command)...)...); o.code != 0 || !strings.Contains(o.stdout, "user/1") {
		t.Errorf("%s opens another registry: %s", command, o)
	}
	if o := dibs("claim", "slug", "bob", "--entity", "user/2", "--store", from); o.code != cli.ExitUnavailable || !strings.Contains(o.stderr, "has moved to another store:") {
		t.Errorf("a caller of the old store is told: %s", o)
	}
	if o := dibs("copy", "--from", from, "--to", "sqlite:"+filepath.Join(dir, "third.db"), "--yes"); o.code != cli.ExitUsage || !strings.Contains(o.stderr, to) {
		t.Errorf("a second copy: %s", o)
	}
	if o := dibs("copy", "--from", from, "--to", to, "--place", "two\nlines", "--yes"); o.code != cli.ExitUsage {
		t.Errorf("a place of two lines: %s", o)
	}
}
