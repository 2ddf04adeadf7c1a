package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The table "The way of a reserve" in architecture.md names functions that one Reserve on an
// embedded registry runs, each in its file.
func TestWayOfAReserve(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
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
		if !covered[file+" "+function] {
			t.Errorf("one Reserve does not run %s of %s", function, file)
		}
	}
}

// coveredByOneReserve returns "file function" of everything that testdata/onereserve runs.
func coveredByOneReserve(t *testing.T) map[string]bool {
	t.Helper()
	const module, source = "github.com/calldibs/dibs", "./docs/testdata/onereserve"
	counts := t.TempDir()
	program := filepath.Join(counts, "onereserve")
	build := exec.CommandContext(t.Context(), "go", "build", "-cover", "-o", program,
		fmt.Sprintf("-coverpkg=%[1]s,%[1]s/internal/core,%[1]s/internal/rules,%[2]s", module, source), source)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), program)
	run.Env = append(os.Environ(), "GOCOVERDIR="+counts)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "covdata", "func", "-i="+counts).Output()
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
		covered[file+" "+strings.TrimPrefix(fields[1], "*")] = true // of a pointer
	}
	return covered
}

// The list of files in CONTRIBUTING.md, "Adding a command", is all production files in which
// the code knows the command Transfer, and its help.
func TestAddingACommand(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readText(t, "CONTRIBUTING.md"), "## Adding a command")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	known := append(filesThatKnow(t, "Transfer", `"transfer"`), "internal/cli/help.txt")
	if slices.Sort(known); !slices.Equal(slices.Sorted(slices.Values(listed)), known) {
		t.Errorf("CONTRIBUTING.md lists %v, Transfer is in %v", listed, known)
	}
	if most := 8; len(listed) > most {
		t.Errorf("a command takes %d files, at most %d are allowed", len(listed), most)
	}
}

// filesThatKnow returns the production files, without programs that merely use the library, whose
// code has an identifier or a literal.
func filesThatKnow(t *testing.T, identifier, literal string) (paths []string) {
	t.Helper()
	users := []string{"examples", "internal/demo", "internal/model", "internal/linear", "internal/nametest", "internal/coretest", "storetest"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if err != nil || entry.IsDir() && slices.Contains(users, name) {
			return cmp.Or(err, fs.SkipDir)
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || isTest(name) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		knows := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				knows = knows || n.Name == identifier
			case *ast.BasicLit:
				knows = knows || n.Value == literal
			}
			return !knows
		})
		if knows {
			paths = append(paths, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// The glossary has each word once, in alphabetical order.
func TestGlossary(t *testing.T) {
	t.Parallel()
	_, glossary, _ := strings.Cut(readText(t, "docs/concepts.md"), "\n## Glossary\n")
	var words []string
	for _, m := range regexp.MustCompile(`(?m)^\*\*(.+?)\.\*\*`).FindAllStringSubmatch(glossary, -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	if len(words) < 50 {
		t.Errorf("the glossary has only %d words", len(words))
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(words))); !slices.Equal(words, sorted) {
		t.Errorf("the glossary has\n%q, want\n%q", words, sorted)
	}
}

// The picture and the table of concepts.md have the states of docs/rules.md.
func TestStates(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readText(t, "docs/rules.md"), "\n## States\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var states []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\w+) \| [^s]`).FindAllStringSubmatch(table, -1) {
		states = append(states, m[1])
	}
	drawn, picture := make(map[string]bool), readText(t, "docs/images/states.svg")
	for _, row := range labelledTables(t, readText(t, "docs/concepts.md"))["transitions"] {
		drawn[quoted(row[0])], drawn[quoted(row[1])] = true, true
	}
	for _, state := range states {
		if !regexp.MustCompile(`class="state"[^>]*>` + state + "<").MatchString(picture) {
			t.Errorf("the picture does not have the state %s", state)
		}
	}
	sameSet(t, "states", slices.Collect(maps.Keys(drawn)), states)
}

var (
	stateName = regexp.MustCompile(`free|held|suspect|active|alias|quarantined`)
	notMoves  = []string{"imported", "moved", "forgotten", "respelled"} // of names from elsewhere, of rows, of texts
)

// The table of transitions in concepts.md has those of the kinds in events.md, which another test
// compares with the program.
func TestTransitions(t *testing.T) {
	t.Parallel()
	var shown, known []string
	for _, row := range labelledTables(t, readText(t, "docs/concepts.md"))["transitions"] {
		shown = append(shown, quoted(row[0])+" to "+quoted(row[1]))
	}
	for _, row := range labelledTables(t, readText(t, "docs/events.md"))["kinds"] {
		before, after, isMove := strings.Cut(row[2], " → ")
		if !isMove || slices.Contains(notMoves, quoted(row[0])) {
			continue
		}
		for _, from := range stateName.FindAllString(before, -1) {
			for _, to := range stateName.FindAllString(after, -1) {
				if move := from + " to " + to; move != "held to held" && !slices.Contains(known, move) { // more time is no move
					known = append(known, move)
				}
			}
		}
	}
	sameSet(t, "transitions", shown, known)
}
