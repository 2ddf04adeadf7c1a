package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

const root = "../.."

func bugs(t *testing.T) []bug {
	t.Helper()
	list, err := readBugs("bugs.toml")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Bugs that can no longer be planted would be missed without notice.
func TestBugsCanBePlanted(t *testing.T) {
	t.Parallel()
	list := bugs(t)
	if len(list) < 50 {
		t.Errorf("%d bugs, want at least 50", len(list))
	}
	seen := make(map[string]bool)
	for _, b := range list {
		content, err := b.plant(root)
		if err != nil {
			t.Error(err)
		}
		if seen[string(content)] {
			t.Errorf("%s is listed twice", b)
		}
		seen[string(content)] = true
		if b.Bug == "" || strings.Contains(b.Bug, "|") {
			t.Errorf("%s has no words that fit into the table", b)
		}
	}
}

func TestTestsOfBugsExist(t *testing.T) {
	t.Parallel()
	for _, b := range bugs(t) {
		for _, text := range declarations(b) {
			if !contains(t, text.files, text.text) {
				t.Errorf("%s: there is no %s (no %q in %s)", b, b.Test, text.text, text.files)
			}
		}
	}
}

type declaration struct {
	files string // a pattern
	text  string
}

// declarations returns texts that the sources of a bug's test have.
func declarations(b bug) []declaration {
	folder := filepath.Join(root, b.Package)
	switch {
	case strings.HasSuffix(b.Package, "typescript"):
		file, title, _ := strings.Cut(b.Test, ": ")
		return []declaration{{filepath.Join(folder, "test", file+".test.ts"), `test("` + title + `"`}}
	case strings.HasSuffix(b.Package, "python"):
		module, rest, _ := strings.Cut(b.Test, ".")
		class, method, _ := strings.Cut(rest, ".")
		file := filepath.Join(folder, "tests", module+".py")
		return []declaration{{file, "class " + class + "("}, {file, "    def " + method + "(self)"}}
	}
	name, sub, isSub := strings.Cut(b.Test, "/")
	sub = sub[strings.LastIndexByte(sub, '/')+1:]
	all := []declaration{{filepath.Join(folder, "*_test.go"), "func " + name + "(t *testing.T)"}}
	if isSub { // a case of the engines' contract
		all = append(all, declaration{filepath.Join(root, "storetest", "cases.go"), `{"` + sub + `", `})
	}
	return all
}

func contains(t *testing.T, pattern, text string) bool {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

func TestPageListsTheBugs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	if filled, err := figures.Fill(string(data), part, table(bugs(t))); err != nil || filled != string(data) {
		t.Errorf("%s does not list the bugs of bugs.toml (%v): run make planted, or go run ./internal/planted -table", page, err)
	}
}

// A misspelt -only must not look like bugs that were found, and neither must a run that was ended.
func TestNothingIsPlanted(t *testing.T) {
	t.Chdir(root)
	if _, err := run(t.Context(), options{list: list, only: "no such bug", procs: 1, out: io.Discard}); err == nil {
		t.Error("no bug is planted, and this is no error")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if missed, err := run(ended, options{list: list, only: "sqlitestore", procs: 1, out: io.Discard}); !errors.Is(err, context.Canceled) || missed != 0 {
		t.Errorf("a run that was ended: %d missed, %v", missed, err)
	}
}

// A run of all bugs tells how many were planted and found, also if some were missed. One of some bugs tells nothing: its figures would
// replace those of all.
func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a package")
	}
	t.Chdir(root)
	folder := t.TempDir()
	o := options{list: filepath.Join(folder, "bugs.toml"), page: filepath.Join(folder, "page.md"), procs: 1, timeout: time.Minute}
	const found, missed = `
[[bug]]
file = "internal/spelling/spelling.go"
old = "d < least {"
new = "d > least {"
bug = "the furthest word"
package = "internal/spelling"
test = "TestNearest"
`, `
[[bug]]
file = "internal/spelling/spelling.go"
old = "no such text"
bug = "nothing is planted"
package = "internal/spelling"
test = "TestNearest"
`
	for _, c := range []struct {
		bugs, only string
		missed     int
		want       string // all figures
		listed     bool
	}{
		{found + missed, "nothing", 1, "", false},
		{missed, "", 1, "figure: bugs planted = 1\nfigure: bugs found = 0\n", false},
		{found, "", 0, "figure: bugs planted = 1\nfigure: bugs found = 1\n", true},
	} {
		for path, text := range map[string]string{o.list: c.bugs, o.page: "<!-- generated: planted bugs -->\n<!-- end -->\n"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		o.only, o.out = c.only, &out
		n, err := run(t.Context(), o)
		told := ""
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "figure: ") {
				told += line
			}
		}
		if err != nil || n != c.missed || told != c.want {
			t.Errorf("-only %q: %d missed, %v, figures %q, want %q\n%s", c.only, n, err, told, c.want, out.String())
		}
		if text, err := os.ReadFile(o.page); err != nil || strings.Contains(string(text), "the furthest word") != c.listed {
			t.Errorf("-only %q, %d missed: the page is %q, %v", c.only, n, text, err)
		}
	}
}

// A bug that its test does not find, that does not compile, or whose test does not exist, is missed.
func TestRunner(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a package four times")
	}
	t.Chdir(root)
	run := &runner{folder: t.TempDir(), timeout: time.Minute}
	const file, folder, old = "internal/spelling/spelling.go", "internal/spelling", "d < least {"
	for _, c := range []struct {
		bug  bug
		want string // in the error; empty for none
	}{
		{bug{File: file, Old: old, New: "d > least {", Package: folder, Test: "TestNearest"}, ""},
		{bug{File: file, Old: old, New: "d < least+0 {", Package: folder, Test: "TestNearest"}, "TestNearest passes"},
		{bug{File: file, Old: old, New: "d < {", Package: folder, Test: "TestNearest"}, "does not compile"},
		{bug{File: file, Old: old, New: "d > least {", Package: folder, Test: "TestFurthest"}, "there is no such test"},
		{bug{File: file, Old: "no such text", Package: folder, Test: "TestNearest"}, "0 times"},
	} {
		err := run.check(t.Context(), c.bug)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q is missed: %v", c.bug.New, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q of %s: %v, want %q", c.bug.New, c.bug.Test, err, c.want)
		}
	}
}
