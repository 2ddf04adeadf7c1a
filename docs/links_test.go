package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	onPkgSite = "https://pkg.go.dev/github.com/calldibs/dibs"
	onGitHub  = "https://github.com/calldibs/dibs"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	lines    = regexp.MustCompile(`^L(\d+)(?:-L(\d+))?$`)
)

// markdown returns all pages of the repository.
func markdown(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "docs/howto/*.md", "clients/*/README.md", "examples/*/README.md", "dashboard/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// Links into the repository lead to a file, and to a heading or to lines of it; those to the
// documentation of a package lead to an identifier that it has.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(outsideOfBlocks(t, page), -1) {
			if problem := checkLink(t, page, m[1]); problem != "" {
				t.Errorf("%s links to %s: %s", page, m[1], problem)
			}
		}
	}
}

func checkLink(t *testing.T, page, target string) (problem string) {
	t.Helper()
	folder := filepath.Dir(page)
	if rest, ok := strings.CutPrefix(target, onPkgSite); ok {
		path, identifier, _ := strings.Cut(rest, "#")
		if !declares(t, filepath.Join(root, path), identifier) {
			return "no such package or identifier"
		}
		return ""
	}
	if rest, ok := strings.CutPrefix(target, onGitHub+"/blob/main/"); ok {
		folder, target = root, rest
	}
	if strings.Contains(target, "://") {
		return ""
	}
	path, anchor, _ := strings.Cut(target, "#")
	file := filepath.Join(folder, path)
	if path == "" {
		file = page
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err.Error()
	case anchor == "":
		return ""
	case info.IsDir():
		return "a folder has no headings"
	case filepath.Ext(file) == ".md" && !hasHeading(outsideOfBlocks(t, file), anchor):
		return "no such heading"
	case filepath.Ext(file) != ".md" && !hasLines(t, file, anchor):
		return "no such lines"
	}
	return ""
}

// outsideOfBlocks returns the text of a page without its fenced blocks.
func outsideOfBlocks(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for i, part := range strings.Split(string(text), "```") {
		if i%2 == 0 {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n")
}

// hasHeading tells whether a heading of the page has that anchor on GitHub.
func hasHeading(page, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := strings.ToLower(unlinked.ReplaceAllString(m[1], ""))
		if strings.ReplaceAll(text, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// hasLines tells whether a file has the lines of an anchor such as L7 or L7-L9.
func hasLines(t *testing.T, path, anchor string) bool {
	t.Helper()
	m := lines.FindStringSubmatch(anchor)
	if m == nil {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range m[1:] {
		if n, _ := strconv.Atoi(number); n > strings.Count(string(text), "\n") {
			return false
		}
	}
	return true
}

// declares tells whether the package in a folder has an identifier, such as Open or Store.Close.
// Without one it tells whether there is a package.
func declares(t *testing.T, folder, identifier string) bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	owner, name, isMember := strings.Cut(identifier, ".")
	for _, path := range slices.DeleteFunc(paths, isTest) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if identifier == "" {
			return true
		}
		for declared := range ast.Preorder(file) {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				if isMember && d.Recv != nil && d.Name.Name == name || !isMember && d.Recv == nil && d.Name.Name == owner {
					return true
				}
			case *ast.TypeSpec:
				if !isMember && d.Name.Name == owner {
					return true
				}
			case *ast.ValueSpec:
				if !isMember && slices.ContainsFunc(d.Names, func(n *ast.Ident) bool { return n.Name == owner }) {
					return true
				}
			}
		}
	}
	return false
}

var (
	codePath = regexp.MustCompile("`((?:[a-z]+/)+[a-z0-9_*]+\\.(?:go|md|sql|toml|svg))`")
	docsPath = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md(?:#[a-z0-9-]+)?`)
)

// Files of the repository that pages name in backticks exist, and so do the pages that comments and
// messages of the code name.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	for _, page := range markdown(t) {
		for _, m := range codePath.FindAllStringSubmatch(outsideOfBlocks(t, page), -1) {
			if found, _ := filepath.Glob(filepath.Join(root, m[1])); len(found) == 0 && filepath.Base(page) != "CHANGELOG.md" {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	named := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin"}, entry.Name()) {
			return fs.SkipDir
		}
		if err != nil || !slices.Contains([]string{".go", ".toml", ".py", ".ts", ".txt", ".sql"}, filepath.Ext(path)) || strings.HasSuffix(path, "links_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, page := range docsPath.FindAllString(string(text), -1) {
			if named++; checkLink(t, filepath.Join(root, "README.md"), page) != "" {
				t.Errorf("%s names %s: %s", path, page, checkLink(t, filepath.Join(root, "README.md"), page))
			}
		}
		return nil
	})
	if err != nil || named < 20 {
		t.Errorf("found only %d pages in code, %v", named, err)
	}
}

// The map of the documentation has every page.
func TestMap(t *testing.T) {
	t.Parallel()
	linked := make(map[string]bool)
	for _, m := range link.FindAllStringSubmatch(readText(t, "docs/README.md"), -1) {
		linked[m[1]] = true
	}
	for _, pattern := range []string{"*.md", "howto/*.md"} {
		pages, _ := filepath.Glob(filepath.Join(root, "docs", pattern))
		for _, path := range pages {
			page, _ := filepath.Rel(filepath.Join(root, "docs"), path)
			if page != "README.md" && !linked[filepath.ToSlash(page)] {
				t.Errorf("docs/README.md does not link to %s", page)
			}
		}
	}
}

// Each decision has a number of its own, the same in its heading and in the name of its file, and is in
// the list.
func TestDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs/decisions/0*.md"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("found only %d decisions, %v", len(pages), err)
	}
	known, index := make(map[string]string), readText(t, "docs/decisions/README.md")
	for _, page := range pages {
		number, _, _ := strings.Cut(filepath.Base(page), "-")
		if other := known[number]; other != "" {
			t.Errorf("%s and %s have the same number", other, page)
		}
		known[number] = page
		if heading := "# " + strings.TrimLeft(number, "0") + ". "; !strings.HasPrefix(outsideOfBlocks(t, page), heading) {
			t.Errorf("%s does not begin with %q", page, heading)
		}
		if !strings.Contains(index, "("+filepath.Base(page)+")") {
			t.Errorf("docs/decisions/README.md does not list %s", page)
		}
	}
}
