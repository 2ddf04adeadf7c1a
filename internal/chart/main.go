// Command chart shows what the benchmarks measured and the long tests did: from the files in bench/
// it makes the charts in docs/charts, and the parts of pages that stand between markers. make
// charts runs it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/calldibs/dibs/internal/figures"
)

// pages are the pages with generated parts.
var pages = []string{"README.md", "docs/performance.md", "docs/goals.md", "docs/operations.md", "docs/scale.md", "docs/testing.md"}

func main() {
	files, err := generate(".")
	for path, text := range files {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
	parts, err := partsOf(speed, growth)
	if err != nil {
		return nil, err
	}
	parts["proof"], parts["faults"], parts["fuzzing"] = proofTable(proof), faultTable(proof), fuzzTable(proof)
	for _, page := range pages {
		path := filepath.Join(root, page)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if files[path], err = fill(string(text), parts); err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	return files, nil
}

// marked is a generated part of a page: <!-- generated: goals --> … <!-- end -->.
var marked = regexp.MustCompile(`(?s)(<!-- generated: ([a-z]+) -->\n).*?(<!-- end -->)`)

// fill replaces what stands between the markers of a page.
func fill(page string, parts map[string]string) (_ string, err error) {
	filled := marked.ReplaceAllStringFunc(page, func(old string) string {
		found := marked.FindStringSubmatch(old)
		text, ok := parts[found[2]]
		if !ok {
			err = fmt.Errorf("no part of a page is called %q", found[2])
		}
		return found[1] + text + found[3]
	})
	return filled, err
}
