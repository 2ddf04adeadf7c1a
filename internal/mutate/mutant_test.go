package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const sample = `package p

type T struct{ n int }

func (t *T) f(a, b int) int {
	if a < b && b != 3 {
		t.n = 1
	}
	switch {
	case a >= 2, b == 1:
		t.g()
	}
	switch a {
	case 1:
		return 3
	default:
		return 0
	}
}

func (t *T) g() { t.n++ }
`

func TestWithMutants(t *testing.T) {
	t.Parallel()
	_, mutants, err := withMutants("p.go", []byte(sample), 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, m.String())
	}
	want := []string{
		"p.go T.f: negate a < b && b != 3",
		"p.go T.f: || for && in a < b && b != 3",
		"p.go T.f: <= for < in a < b",
		"p.go T.f: == for != in b != 3",
		"p.go T.f: leave out t.n = 1",
		"p.go T.f: negate a >= 2",
		"p.go T.f: negate b == 1",
		"p.go T.f: > for >= in a >= 2",
		"p.go T.f: leave out t.g()",
		"p.go T.f: empty case 1",
		"p.go T.f: empty default",
		"p.go T.g: leave out t.n++",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A module whose tests find all changes but one.
func TestMutate(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a module")
	}
	t.Chdir(t.TempDir())
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module p\n\ngo 1.26\n")
	write("p.go", "package p\n\nfunc limit(n int) int {\n\tif n > 3 {\n\t\tn = 3\n\t}\n\treturn n\n}\n\nfunc unused(n *int) { *n = 1 }\n")
	write("p_test.go", "package p\n\nimport \"testing\"\n\nfunc TestLimit(t *testing.T) {\n\tif limit(2) != 2 || limit(9) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
	write("page.md", "# Page\n\n<!-- generated: mutation -->\n<!-- end -->\n")
	var out strings.Builder // of the last run
	only := ""
	run := func(equivalent string) bool {
		t.Helper()
		out.Reset()
		write("equivalent.txt", "[no caller can tell]\n"+equivalent)
		ok, err := mutate(t.Context(), &runner{packages: []string{"."}, timeout: time.Minute, memory: readMemory("memory.json")}, options{
			files: "p.go", equivalent: "equivalent.txt", page: "page.md", only: only, procs: 1, out: &out,
		})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	const same, unused = "p.go limit: >= for > in n > 3\n\t3 stays 3\n", "p.go unused: leave out *n = 1\n\tno caller\n"
	if run(same) {
		t.Error("a change that no test finds is accepted, though it is not listed")
	}
	if want := "figure: changes tried = 4\nfigure: found = 2\nfigure: equivalent = 1\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("with a change that is not found: %q, want %q", out.String(), want)
	}
	if !run(same + unused) {
		t.Error("changes that are listed are not accepted")
	}
	page, err := os.ReadFile("page.md")
	if err != nil || !strings.Contains(string(page), "| all | 4 | 2 | 2 |") || !strings.Contains(string(page), "| no caller can tell | 2 |") {
		t.Errorf("%v; the page is\n%s", err, page)
	}
	if want := "figure: changes tried = 4\nfigure: found = 2\nfigure: equivalent = 2\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("a complete run: %q, want %q", out.String(), want)
	}
	only = "limit" // whose figures would replace those of all
	if !run(same+unused) || strings.Contains(out.String(), "figure") || !strings.HasPrefix(out.String(), "3 changes") {
		t.Errorf("a run of some changes: %q", out.String())
	}
	only = ""
	if run(same + unused + "p.go limit: negate n > 3\n\tnot true\n") {
		t.Error("a change that is found is accepted as equivalent")
	}
	// What is remembered of the tests does not count once they have changed.
	write("p_test.go", "package p\n\nimport \"testing\"\n\nfunc TestLimit(t *testing.T) {\n\tif limit(2) != 2 {\n\t\tt.Fatal()\n\t}\n}\n")
	if run(same + unused) {
		t.Error("a change that no test finds any more is accepted")
	}
}

func TestReadEquivalent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list")
	for content, want := range map[string]string{
		"# words\n\n[A]\na: x\nb: y\n\twhy\n\tmore\n[B]\nc: z\n\twhy\n": "map[a: x:A b: y:A c: z:B]",
		"[A]\na: x\n":                   "gives no reason for a: x",
		"[A]\na: x\n\nb: y\n\twhy\n":    "gives no reason for a: x",
		"[A]\na: x\n[B]\nb: y\n\twhy\n": "gives no reason for a: x",
		"a: x\n\twhy\n":                 "a: x is in no class",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readEquivalent(path)
		got := fmt.Sprint(list.classOf)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}

// The list names changes that exist.
func TestListIsUpToDate(t *testing.T) {
	t.Chdir("../..")
	list, err := readEquivalent("internal/mutate/equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, mutants, err := collect("internal/rules/*.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := list.checkExist(mutants); err != nil {
		t.Error(err)
	}
	if list.checkExist(nil) == nil {
		t.Error("changes that do not exist are accepted")
	}
}

// Only some changes are tried, also if their file has the name of another one in this folder. A misspelt text must not look like
// changes that were found.
func TestChosen(t *testing.T) {
	t.Chdir("../..")
	mutants := []mutant{{path: "internal/rules/name.go", function: "f", what: "negate a"}, {path: "internal/rules/hold.go", function: "g", what: "negate b"}}
	if some, err := chosen(slices.Clone(mutants), "name.go"); err != nil || len(some) != 1 || some[0] != mutants[0] {
		t.Errorf("%v, %v", some, err)
	}
	if some, err := chosen(slices.Clone(mutants), "no such change"); err == nil {
		t.Errorf("%v", some)
	}
}
