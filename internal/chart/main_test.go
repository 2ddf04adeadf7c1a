package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

// The pages and charts show what bench/*.json has: make charts was run after make bench.
func TestPagesShowWhatWasMeasured(t *testing.T) {
	t.Parallel()
	files, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what bench/*.json says (%v): run make charts", path, err)
		}
	}
	if len(files) < 6 {
		t.Errorf("only %d files are generated", len(files))
	}
	for _, chart := range []string{"callers", "latency", "names"} {
		page := files["../../docs/performance.md"]
		if !strings.Contains(page, "](charts/"+chart+".svg)") || !strings.Contains(page, "<!-- generated: "+chart+" -->") {
			t.Errorf("docs/performance.md does not show the chart %s and its table", chart)
		}
	}
}

// Every generated part is on a page, and only these pages have any.
func TestPartsAreShown(t *testing.T) {
	t.Parallel()
	speed, err := figures.Read("../../bench/results.json")
	if err != nil {
		t.Fatal(err)
	}
	growth, err := figures.Read("../../bench/growth.json")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := partsOf(speed, growth)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(found, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range marked.FindAllStringSubmatch(string(text), -1) {
			delete(parts, m[2])
			if page := strings.TrimPrefix(filepath.ToSlash(path), "../../"); !slices.Contains(pages, page) {
				t.Errorf("%s has the part %s, and nothing fills it", page, m[2])
			}
		}
	}
	for name := range parts {
		t.Errorf("no page has the part %s", name)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	page := "before\n<!-- generated: a -->\nold\n<!-- end -->\nbetween\n<!-- generated: b -->\n<!-- end -->\n"
	got, err := fill(page, map[string]string{"a": "new\n", "b": "also\n"})
	if want := "before\n<!-- generated: a -->\nnew\n<!-- end -->\nbetween\n<!-- generated: b -->\nalso\n<!-- end -->\n"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := fill(page, map[string]string{"a": "new\n"}); err == nil {
		t.Error("a part without a text is no error")
	}
}
