package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxExported is how many package-level identifiers the rules may export.
const maxExported = 45

// The rules are a pure function of commands, records and a given time. So they import the root and
// the standard library without what waits, locks or does I/O, and read no clock.
func TestRulesArePure(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	for _, file := range parseFolder(t, fset, ".") {
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if !mayImport(path) {
				t.Errorf("%s: the rules must not import %s", fset.Position(spec.Pos()), path)
			}
			if path == "time" && spec.Name != nil {
				t.Errorf("%s: import time under its own name, so that this test finds its calls", fset.Position(spec.Pos()))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clockCalls, selector.Sel.Name) {
				t.Errorf("%s: the rules must not call time.%s: the time is given", fset.Position(selector.Pos()), selector.Sel.Name)
			}
			return true
		})
	}
}

// clockCalls are the functions of package time that read the clock or wait for it.
var clockCalls = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

func mayImport(path string) bool {
	if path == "github.com/calldibs/dibs" {
		return true
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && !slices.Contains([]string{"context", "sync", "os", "net", "syscall", "unsafe"}, first)
}

// The core uses the rules through a small interface.
func TestRulesExportFewIdentifiers(t *testing.T) {
	t.Parallel()
	var exported []string
	for _, file := range parseFolder(t, token.NewFileSet(), ".") {
		for _, declaration := range file.Decls {
			for _, name := range declared(declaration) {
				if name.IsExported() {
					exported = append(exported, name.Name)
				}
			}
		}
	}
	if len(exported) > maxExported {
		slices.Sort(exported)
		t.Errorf("%d exported identifiers, want at most %d: %s", len(exported), maxExported, strings.Join(exported, ", "))
	}
}

// declared returns the package-level identifiers of a declaration. Methods do not count.
func declared(declaration ast.Decl) (names []*ast.Ident) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

// parseFolder parses the Go files of a folder without its tests.
func parseFolder(t *testing.T, fset *token.FileSet, folder string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("no Go files in %s", folder)
	}
	return files
}
