// Package lineartest runs the histories of package linear in a test.
package lineartest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/linear"
)

// Count is how many histories a test runs: HISTORIES of the environment, or few.
func Count(tb testing.TB, few int) int {
	tb.Helper()
	if text := os.Getenv("HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatalf("HISTORIES is %q: want a number", text)
		}
		return n
	}
	if testing.Short() {
		return max(1, few/6)
	}
	return few
}

// Run runs histories on a site, injects faults meanwhile, and fails the test if one of the
// histories is not linearizable. where is the site in words, such as "on SQLite": the figures of
// a long run name it, and those of two tests with the same words would be added up.
func Run(tb testing.TB, where string, site linear.Site, histories int) linear.Report {
	tb.Helper()
	report := linear.Run(tb.Context(), site, linear.Options{Histories: histories, Seed: uint64(time.Now().UnixNano())})
	for _, wrong := range report.Violations {
		tb.Error(wrong)
	}
	tb.Log(report)
	if os.Getenv("HISTORIES") != "" { // a long run, whose figures are kept
		tb.Logf("figure: histories %s = %d", where, report.Histories)
		tb.Logf("figure: operations in all = %d", report.Operations)
		tb.Logf("figure: unknown outcomes in all = %d", report.Unknown)
	}
	return report
}
