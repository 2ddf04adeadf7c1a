package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links between files of the repository lead to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "clients/*/README.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(outsideOfBlocks(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(page), path)
			if path == "" {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !hasHeading(outsideOfBlocks(t, target), anchor) {
				t.Errorf("%s links to %s: no such heading", page, m[1])
			}
		}
	}
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
