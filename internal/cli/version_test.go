package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/build"
	"github.com/calldibs/dibs/internal/cli"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	text := run(cli.Process{Args: []string{"version"}})
	for _, want := range []string{build.Read().Version, runtime.GOOS + "/" + runtime.GOARCH, "built in\n"} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("the version does not contain %q:\n%s", want, text.stdout)
		}
	}
	if !strings.HasPrefix(text.stdout, "dibs ") {
		t.Errorf("the version does not begin with the program:\n%s", text.stdout)
	}
	if flag := run(cli.Process{Args: []string{"--version"}}); flag != text {
		t.Errorf("dibs --version is %+v, dibs version %+v", flag, text)
	}
	var document build.Info
	o := run(cli.Process{Args: []string{"--version", "--json"}})
	if err := json.Unmarshal([]byte(o.stdout), &document); err != nil || document.Go != runtime.Version() || len(document.Engines) == 0 {
		t.Errorf("%v: %s", err, o.stdout)
	}
	if o := run(cli.Process{Args: []string{"version", "1"}}); o.code != cli.ExitUsage {
		t.Errorf("dibs version 1: exit code %d", o.code)
	}
}

// Every command has a manual page, or a part of that of its group.
func TestManual(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "man")
	if o := run(cli.Process{Args: []string{"manual", folder}}); o.code != 0 || o.stdout+o.stderr != "" {
		t.Fatalf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	for _, verb := range append(cli.VerbNames(), "dibs") {
		group, _, inGroup := strings.Cut(verb, " ")
		name := "dibs-" + group + ".1"
		if verb == "dibs" {
			name = "dibs.1"
		}
		page, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Errorf("%s: %v", verb, err)
			continue
		}
		if text := strings.ReplaceAll(string(page), `\-`, "-"); inGroup && !strings.Contains(text, ".Ss "+verb+"\n") {
			t.Errorf("%s does not have %s", name, verb)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "dibs.toml.5")); err != nil {
		t.Error(err)
	}
}
