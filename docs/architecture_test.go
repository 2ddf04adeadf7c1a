package docs_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table "The way of a reserve" in architecture.md names functions that one Reserve on an
// embedded registry runs, each in its file.
func TestWayOfAReserve(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds and runs a test with coverage")
	}
	covered := coveredByOneReserve(t)
	_, section, _ := strings.Cut(readText(t, "docs/architecture.md"), "## The way of a reserve")
	section, _, _ = strings.Cut(section, "\n## ")
	row := regexp.MustCompile("(?m)^\\|[^|]*\\| `([^`]+)` \\| `([^`]+)` \\|")
	rows := row.FindAllStringSubmatch(section, -1)
	if len(rows) < 10 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, m := range rows {
		file, function := m[1], m[2]
		name := function[strings.LastIndexByte(function, '.')+1:]
		if !covered[file+" "+name] {
			t.Errorf("one Reserve does not run %s of %s", function, file)
		}
	}
}

// coveredByOneReserve returns "file function" of everything that TestOneReserve of internal/core
// runs.
func coveredByOneReserve(t *testing.T) map[string]bool {
	t.Helper()
	const module = "github.com/calldibs/dibs"
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestOneReserve$", "-coverprofile="+profile,
		fmt.Sprintf("-coverpkg=%[1]s,%[1]s/internal/core,%[1]s/internal/rules", module), module+"/internal/core")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "cover", "-func="+profile).Output()
	if err != nil {
		t.Fatal(err)
	}
	covered := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] == "0.0%" {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimPrefix(fields[0], module+"/"), ":")
		covered[file+" "+fields[1]] = true
	}
	return covered
}
