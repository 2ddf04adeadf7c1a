package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// begins and ends are around the summary on a page.
const (
	begins = "<!-- fuzzing: written by make fuzz FUZZPAGE=docs/testing.md -->\n"
	ends   = "<!-- end of fuzzing -->\n"
)

// writePage writes the summary into a page.
func writePage(page string, each time.Duration, results []result) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(old), begins)
	_, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		return fmt.Errorf("%s has no place for the summary: %s", page, begins+ends)
	}
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return err
	}
	head := fmt.Sprintf("\nThe last full run: %s, %s for each target, %s, %d cores, commit %s.\n\n",
		time.Now().UTC().Format(time.DateOnly), each, runtime.Version(), runtime.NumCPU(), strings.TrimSpace(string(commit)))
	return os.WriteFile(page, []byte(before+begins+head+table(results)+"\n"+ends+after), 0o600)
}

// table returns the results as a table of Markdown.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| package | target | executions | new inputs | result |\n|---|---|---:|---:|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %d | %s |\n", r.pkg, r.name, thousands(r.executions), r.interesting, r.verdict())
	}
	return b.String()
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
