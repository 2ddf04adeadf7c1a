package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// begins and ends are around the summary on a page.
const (
	begins = "<!-- fuzzing: written by make fuzz FUZZPAGE=docs/testing.md -->\n"
	ends   = "<!-- end of fuzzing -->\n"
)

// writePage writes the summary into a page.
func writePage(page string, each time.Duration, results []result) error {
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return err
	}
	head := fmt.Sprintf("\nThe last full run: %s, %s for each target, %s, %d cores, commit %s.\n\n",
		time.Now().UTC().Format(time.DateOnly), each, runtime.Version(), runtime.NumCPU(), strings.TrimSpace(string(commit)))
	return figures.ReplacePart(page, begins, ends, head+table(results)+"\n")
}

// table returns the results as a table of Markdown.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| package | target | executions | new inputs | result |\n|---|---|---:|---:|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %d | %s |\n", r.pkg, r.name, figures.Thousands(float64(r.executions)), r.interesting, r.verdict())
	}
	return b.String()
}
