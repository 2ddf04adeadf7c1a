package dibs_test

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/calldibs/dibs"

// mayImport says which packages of this module the production code of each folder may import
// besides the root; "/" stands for the root alone. Dependencies point one way: a package
// imports only packages above its own line, and packages that are not listed do not exist.
var mayImport = []struct{ folder, packages string }{
	{".", ""},

	// Small helpers.
	{"internal/backoff", ""},
	{"internal/build", ""},
	{"internal/bisect", "/"},
	{"internal/exactjson", ""},
	{"internal/generation", ""},
	{"internal/inflight", "/"},
	{"internal/peer", ""},
	{"internal/redirect", "/"},
	{"internal/document", "/ internal/backoff"},
	{"internal/record", "/"},
	{"internal/sqlrow", "/ internal/record"},
	{"internal/snapshot", "/ internal/backoff internal/record"},
	{"internal/wake", ""},
	{"internal/spelling", ""},
	{"internal/extsort", ""},
	{"internal/tlsfiles", ""},
	{"internal/manpage", ""},
	{"dashboard", ""},
	{"dashboard/bundle", ""},

	// Names.
	{"profile", "/"},
	{"internal/rules", "/"},
	{"internal/core", "/ internal/rules internal/backoff internal/bisect internal/generation internal/record internal/wake"},
	{"embedded", "/ internal/core profile"},

	// Engines.
	{"memstore", "/ internal/bisect internal/record internal/backoff internal/snapshot"},
	{"internal/durable", ""},
	{"sqlitestore", "/ internal/bisect internal/durable internal/sqlrow internal/record internal/inflight internal/backoff internal/snapshot"},
	{"pgstore", "/ internal/bisect internal/record internal/sqlrow internal/wake internal/inflight internal/backoff internal/snapshot"},
	{"etcdstore", "/ internal/bisect internal/record internal/wake internal/inflight internal/backoff internal/generation internal/snapshot"},
	{"routestore", "/ internal/bisect internal/document internal/record internal/backoff internal/snapshot"},

	// What stands on a Registry.
	{"witness", "/ internal/exactjson"},
	{"internal/wire", "/"},
	{"dibsclient", "/ internal/backoff internal/wire"},
	{"dibscache", "/ internal/backoff"},
	{"dibshttp", "/ internal/redirect internal/wire"},
	{"dibsotel", "/"},
	{"dibsotel/pgotel", "dibsotel"},
	{"dibsimport", "/ embedded internal/extsort sqlitestore"},
	{"internal/verify", "/ internal/extsort internal/snapshot"},

	// The server.
	{"internal/access", "/"},
	{"internal/auth", "/ internal/access internal/document internal/exactjson"},
	{"internal/limit", "internal/generation"},
	{"internal/health", "/ internal/document internal/snapshot internal/bisect"},
	{"internal/tracing", ""},
	{"internal/webhook", "/ internal/access internal/backoff internal/document internal/wire"},
	{"internal/archive", "/ internal/record internal/snapshot internal/webhook"},
	{"internal/server", "/ dibscache dibsotel internal/access internal/auth internal/backoff internal/exactjson internal/health internal/limit internal/peer internal/record internal/redirect internal/rules internal/webhook internal/wire"},
	{"internal/copier", "/ internal/backoff internal/record internal/snapshot internal/webhook"},
	{"internal/engine", "/ internal/copier dibsotel/pgotel etcdstore memstore pgstore routestore sqlitestore internal/snapshot"},
	{"internal/sqlsource", "internal/engine"},
	{"internal/config", "/ internal/rules internal/access internal/auth internal/engine internal/limit internal/spelling internal/tlsfiles internal/tracing internal/webhook profile routestore witness"},
	{"internal/demo", "/ embedded internal/backoff sqlitestore"},
	{"internal/workload", "/"},
	{"internal/harness", ""},
	{"internal/pgproxy", "internal/harness"},
	{"internal/testcache", ""},
	{"internal/pgtest", "internal/harness internal/testcache"},
	{"internal/logtest", ""},
	{"internal/freeport", ""},
	{"internal/etcdtest", "internal/freeport internal/harness internal/logtest internal/testcache"},
	{"internal/etcdtest/member", ""},
	{"internal/linear", "/"},
	{"internal/testdisk", "internal/harness"},
	{"internal/torture", "/ dibsclient internal/auth internal/engine internal/etcdtest internal/harness internal/linear internal/pgproxy internal/pgtest internal/spelling internal/testdisk"},
	{"internal/cli", "/ dashboard dibscache dibsclient dibsimport dibsotel embedded internal/access internal/archive internal/auth internal/backoff internal/build internal/config internal/copier internal/core internal/demo internal/durable internal/engine internal/health internal/manpage internal/server internal/snapshot internal/spelling internal/sqlsource internal/tlsfiles internal/torture internal/tracing internal/verify internal/webhook internal/wire internal/workload sqlitestore"},
	{"cmd/dibs", "internal/cli"},
	{"cmd/dibs-demo", "internal/demo"},

	// Test support, which may import what it tests.
	{"storetest", "/ internal/bisect internal/record internal/snapshot"},
	{"internal/parallel", ""},
	{"internal/authtest", "/"},
	{"internal/coretest", "/ internal/core memstore storetest"},
	{"internal/crashtest", ""},
	{"internal/endtest", "/"},
	{"internal/lineartest", "internal/linear"},
	{"internal/mariatest", "internal/testcache"},
	{"internal/model", "/"},
	{"internal/figures", ""},
	{"internal/overlay", ""},
	{"internal/mutate", "internal/figures internal/overlay"},
	{"internal/planted", "internal/figures internal/overlay"},
	{"internal/fuzz", "internal/figures"},
	{"internal/release", ""},
	{"internal/nametest", "/ internal/core internal/coretest internal/logtest storetest"},
	{"internal/proxytest", ""},
	{"internal/servetest", ""},
	{"internal/proof", "internal/figures internal/torture"},
	{"internal/queueing", "internal/figures"},
	{"internal/scale", "internal/figures internal/queueing"},
	{"internal/chart", "internal/figures internal/queueing"},
	{"internal/bench", "/ dibscache dibsclient embedded etcdstore internal/core internal/etcdtest internal/figures internal/pgtest internal/server internal/workload pgstore profile sqlitestore"},
	{"docs", ""},
}

func TestDependenciesPointOneWay(t *testing.T) {
	t.Parallel()
	above := map[string]bool{}
	for _, row := range mayImport {
		allowed := strings.Fields(row.packages)
		for _, p := range allowed {
			if p != "/" && !above[p] {
				t.Errorf("%s may import %s, which is not above it in the table", row.folder, p)
			}
		}
		above[row.folder] = true
		pkg, err := build.ImportDir(row.folder, 0)
		if err != nil {
			t.Errorf("%s: %v", row.folder, err)
			continue
		}
		for _, path := range pkg.Imports {
			inside, ours := strings.CutPrefix(path, module)
			if name := strings.TrimPrefix(inside, "/"); ours && !slices.Contains(allowed, cmp.Or(name, "/")) {
				t.Errorf("%s imports %s", row.folder, path)
			}
		}
	}
	goFolders(t, func(folder string, _ []*ast.File) {
		if !above[filepath.ToSlash(folder)] && !strings.HasPrefix(folder, "examples") {
			t.Errorf("%s is not in the table of dependencies", folder)
		}
	})
}

// The root package is the vocabulary that users import. It stays small.
func TestRootStaysSmall(t *testing.T) {
	t.Parallel()
	const maxFiles, maxLines, maxExported = 30, 3000, 280
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range pkg.GoFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if len(pkg.GoFiles) > maxFiles || lines > maxLines {
		t.Errorf("the root has %d files with %d lines, more than %d with %d", len(pkg.GoFiles), lines, maxFiles, maxLines)
	}
	if n := exportedIn(t, "."); n > maxExported {
		t.Errorf("the root exports %d identifiers, more than %d", n, maxExported)
	}
}

// exportedIn counts the exported functions, types, constants and variables of a package.
func exportedIn(t *testing.T, folder string) (n int) {
	t.Helper()
	goFolders(t, func(other string, files []*ast.File) {
		if other != folder {
			return
		}
		for _, f := range files {
			for name, object := range f.Scope.Objects {
				if ast.IsExported(name) && object.Kind != ast.Pkg {
					n++
				}
			}
		}
	})
	return n
}

// Files have one concept each. Generated tables and test data are left out.
func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	const maxLines = 500
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d", path, n, maxLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
