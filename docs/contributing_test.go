package docs_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list of files in CONTRIBUTING.md, "Adding a command", is all production files in which
// the code knows the command Transfer.
func TestAddingACommand(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readText(t, "CONTRIBUTING.md"), "## Adding a command")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+\\.go)` \\|").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(listed)
	if known := filesThatKnow(t, "Transfer", `"transfer"`); !slices.Equal(listed, known) {
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
