package main

import (
	"os"
	"path/filepath"
	"regexp"
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

// The pages have the parts that this command fills, and no others but those of other commands and tests.
func TestPartsAreShown(t *testing.T) {
	t.Parallel()
	others := []string{"planted bugs", "mutation", "one event of each kind"}
	marker := regexp.MustCompile(`<!-- generated: (.+) -->`)
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(found, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range marker.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(others, m[1]) {
				names = append(names, m[1])
			}
		}
		page := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if want := slices.Sorted(slices.Values(pages[page])); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
			t.Errorf("%s has the generated parts %q, want %q", page, names, want)
		}
	}
}

func read(t *testing.T) (speed, growth figures.Run) {
	t.Helper()
	speed, err := figures.Read("../../bench/results.json")
	if err != nil {
		t.Fatal(err)
	}
	if growth, err = figures.Read("../../bench/growth.json"); err != nil {
		t.Fatal(err)
	}
	return speed, growth
}

// Every part of a run is on a page.
func TestEveryPartHasAPage(t *testing.T) {
	t.Parallel()
	speed, growth := read(t)
	parts, err := partsOf(speed, growth, figures.Proof{})
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range pages {
		for _, name := range names {
			delete(parts, name)
		}
	}
	if len(parts) > 0 {
		t.Errorf("no page has the parts %v", parts)
	}
}

// A run without a figure that a page shows does not remove it from the page.
func TestLostFigures(t *testing.T) {
	t.Parallel()
	speed, growth := read(t)
	without := func(r figures.Run, goal string) figures.Run {
		r.Results = slices.DeleteFunc(slices.Clone(r.Results), func(r figures.Result) bool { return r.Goal == goal })
		return r
	}
	noCurves := speed
	noCurves.Curves = nil
	for what, c := range map[string]struct {
		speed figures.Run
		want  string
	}{
		"S1":     {without(speed, "S1"), "no run measured S1"},
		"S11":    {without(speed, "S11"), `no run measured "import of "`},
		"curves": {noCurves, `no run measured the curve "callers"`},
	} {
		if _, err := partsOf(c.speed, growth, figures.Proof{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: %v, want %s", what, err, c.want)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	page := "before\n<!-- generated: a -->\nold\n<!-- end -->\nbetween\n<!-- generated: b -->\n<!-- end -->\n"
	got, err := fill(page, []string{"a", "b"}, map[string]string{"a": "new\n", "b": "also\n"})
	if want := "before\n<!-- generated: a -->\nnew\n<!-- end -->\nbetween\n<!-- generated: b -->\nalso\n<!-- end -->\n"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := fill(page, []string{"b"}, map[string]string{"a": "new\n"}); err == nil {
		t.Error("a part without a text is no error")
	}
}
