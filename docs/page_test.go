// Package docs_test checks the documentation: it runs the calls, programs and steps
// that the pages show, and compares tables and links with the code.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's folder. Paths in this package are relative to it.
const root = ".."

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readFiles returns the text of all files that match one of the patterns and that keep
// accepts.
func readFiles(t *testing.T, keep func(path string) bool, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, path := range paths {
			if keep(path) {
				all.WriteString(readText(t, strings.TrimPrefix(path, root)) + "\n")
			}
		}
	}
	return all.String()
}

func isTest(path string) bool  { return strings.HasSuffix(path, "_test.go") }
func notTest(path string) bool { return !isTest(path) }

// block is a fenced block of a page, with the text between it and the block before.
type block struct {
	before, kind, body string
}

// blocksOf returns the fenced blocks of a page.
func blocksOf(text string) (blocks []block) {
	parts := strings.Split(text, "```")
	for i := 1; i < len(parts); i += 2 {
		kind, body, _ := strings.Cut(parts[i], "\n")
		blocks = append(blocks, block{before: parts[i-1], kind: kind, body: body})
	}
	return blocks
}

// shownBehind returns the block that directly follows block i: the answer to its last
// command. It is the zero block if there is text between them.
func shownBehind(blocks []block, i int) block {
	if i+1 < len(blocks) && strings.TrimSpace(blocks[i+1].before) == "" {
		return blocks[i+1]
	}
	return block{}
}

var tableLabel = regexp.MustCompile(`^<!-- (.*) -->$`)

// labelledTables returns the tables that follow a label in an HTML comment, without
// their two heading lines.
func labelledTables(t *testing.T, text string) map[string][][]string {
	t.Helper()
	tables := make(map[string][][]string)
	label, heading := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch found := tableLabel.FindStringSubmatch(line); {
		case found != nil:
			if label, heading = found[1], 2; tables[label] != nil {
				t.Errorf("two tables have the label %q", label)
			}
		case label == "" || line == "":
			if heading == 0 {
				label = ""
			}
		case heading > 0:
			heading--
		default:
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			tables[label] = append(tables[label], cells)
		}
	}
	return tables
}

var inBackticks = regexp.MustCompile("`([^`]+)`")

// quoted returns the first text in backticks of a cell, or "".
func quoted(cell string) string {
	if texts := allQuoted(cell); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// allQuoted returns all texts in backticks of a cell.
func allQuoted(cell string) (texts []string) {
	for _, m := range inBackticks.FindAllStringSubmatch(cell, -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// sameSet fails the test if the page and the program do not list the same texts.
func sameSet(t *testing.T, what string, page, program []string) {
	t.Helper()
	slices.Sort(page)
	slices.Sort(program)
	if !slices.Equal(page, program) {
		t.Errorf("%s: the page has\n  %q\nthe program has\n  %q", what, page, program)
	}
}
