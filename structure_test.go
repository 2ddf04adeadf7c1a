package dibs_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// The root package is what everybody imports: it needs the standard library alone.
func TestRootImportsTheStandardLibraryAlone(t *testing.T) {
	t.Parallel()
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
			t.Errorf("the root package imports %s", path)
		}
	}
}

// goFolders calls fn for each folder with Go files, test files left out.
func goFolders(t *testing.T, fn func(folder string, files []*ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		paths, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		var files []*ast.File
		for _, p := range paths {
			if strings.HasSuffix(p, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		if len(files) > 0 {
			fn(path, files)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// No template is part of a program: templates call methods by name, and the linker then keeps every
// method of every type, 5 MB of dibs.
func TestNoTemplates(t *testing.T) {
	t.Parallel()
	goFolders(t, func(folder string, files []*ast.File) {
		for _, file := range files {
			for _, spec := range file.Imports {
				if spec.Path.Value == `"text/template"` || spec.Path.Value == `"html/template"` {
					t.Errorf("%s imports %s", folder, spec.Path.Value)
				}
			}
		}
	})
}

func TestEveryFolderHasOnePackageComment(t *testing.T) {
	t.Parallel()
	goFolders(t, func(folder string, files []*ast.File) {
		comments := 0
		for _, f := range files {
			if f.Doc != nil {
				comments++
			}
		}
		if comments != 1 {
			t.Errorf("%s has %d package comments, want one", folder, comments)
		}
	})
}

func TestEveryExportedIdentifierIsDocumented(t *testing.T) {
	t.Parallel()
	goFolders(t, func(folder string, files []*ast.File) {
		for _, f := range files {
			for _, decl := range f.Decls {
				for _, name := range undocumented(decl) {
					t.Errorf("%s: %s has no comment", folder, name)
				}
			}
		}
	})
}

// undocumented returns the exported names of a declaration that have no comment.
// In a group of constants or variables a comment on the line counts, and one on the
// group counts for all.
func undocumented(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
		return names
	}
	return nil
}

// exportedReceiver reports whether a function is one, or a method of an exported
// type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

// Every public verb has a runnable example.
func TestEveryVerbHasAnExample(t *testing.T) {
	t.Parallel()
	tests, err := filepath.Glob("example_*test.go")
	if err != nil {
		t.Fatal(err)
	}
	examples := make(map[string]bool)
	for _, path := range tests {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				examples[f.Name.Name] = true
			}
		}
	}
	for method := range reflect.TypeFor[*dibs.Registry]().Methods() {
		switch method.Name {
		case "Close", "InTransaction": // part of every example; for engines
			continue
		}
		if !examples["ExampleRegistry_"+method.Name] {
			t.Errorf("Registry.%s has no example", method.Name)
		}
	}
}

// Files and folders are created for their owner alone: names, digests and secrets are in
// most of them. What the benchmarks measured, manual pages and releases are for everybody.
func TestFilesAreCreatedForTheirOwner(t *testing.T) {
	t.Parallel()
	goFolders(t, func(folder string, files []*ast.File) {
		switch filepath.ToSlash(folder) {
		case "internal/bench", "internal/figures", "internal/chart", "internal/manpage", "internal/release":
			return
		}
		for _, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && createsForOthers(call) {
					t.Errorf("%s: %s creates something that others may read", folder, call.Fun.(*ast.SelectorExpr).Sel.Name)
				}
				return true
			})
		}
	})
}

// createsForOthers reports whether a call of package os creates something with
// permissions for more than its owner, or such that are not written there.
func createsForOthers(call *ast.CallExpr) bool {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if pkg, ok := function.X.(*ast.Ident); !ok || pkg.Name != "os" {
		return false
	}
	switch function.Sel.Name {
	case "Create":
		return true
	case "OpenFile", "WriteFile", "Mkdir", "MkdirAll", "Chmod":
		literal, ok := call.Args[len(call.Args)-1].(*ast.BasicLit)
		if !ok {
			return true
		}
		mode, err := strconv.ParseUint(literal.Value, 0, 32)
		return err != nil || mode&0o077 != 0
	default: // CreateTemp and MkdirTemp are for their owner alone
		return false
	}
}
