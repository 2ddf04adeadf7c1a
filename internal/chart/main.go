// Command chart shows what the benchmarks measured and the long tests did: from the files in bench/
// it makes the charts in docs/charts, and the parts of pages that stand between markers. make
// charts runs it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/calldibs/dibs/internal/figures"
)

// pages are the pages with generated parts, and the names of these.
var pages = map[string][]string{
	"README.md":           {"speed"},
	"docs/performance.md": {"short", "machine", "peers", "callers", "latency", "size", "names", "many"},
	"docs/goals.md":       {"goals", "growth"},
	"docs/operations.md":  {"bytes"},
	"docs/scale.md":       {"costs", "model", "plan"},
	"docs/testing.md":     {"proof", "faults", "fuzzing"},
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// write writes all files. Long tests that end at the same time do so one after the other.
func write() error {
	unlock, err := figures.Lock("docs")
	if err != nil {
		return err
	}
	defer unlock()
	files, err := generate(".")
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns what each file should be, by its path. The root is the repository's folder.
func generate(root string) (map[string]string, error) {
	speed, err := figures.Read(filepath.Join(root, "bench/results.json"))
	if err != nil {
		return nil, err
	}
	growth, err := figures.Read(filepath.Join(root, "bench/growth.json"))
	if err != nil {
		return nil, err
	}
	proof, err := figures.ReadProof(filepath.Join(root, "bench/proof.json"))
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for _, c := range append(speed.Curves, growth.Curves...) {
		files[filepath.Join(root, "docs/charts", c.ID+".svg")] = draw(c)
	}
	parts, err := partsOf(speed, growth, proof)
	if err != nil {
		return nil, err
	}
	for page, names := range pages {
		path := filepath.Join(root, page)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if files[path], err = fill(string(text), names, parts); err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	return files, nil
}

// fill returns a page with its generated parts.
func fill(page string, names []string, parts map[string]string) (_ string, err error) {
	for _, name := range names {
		text, ok := parts[name]
		if !ok {
			return "", fmt.Errorf("no figures are called %q", name)
		}
		if page, err = figures.Fill(page, name, text); err != nil {
			return "", err
		}
	}
	return page, nil
}
