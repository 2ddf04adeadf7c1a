package main

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

func TestProofTables(t *testing.T) {
	t.Parallel()
	p := figures.Proof{Runs: []figures.ProofRun{
		{Name: "histories", Date: "2026-11-16", Commit: "abc", Machine: "2 cores", Seconds: 61, OK: true, Figures: []figures.Figure{
			{What: "operations", Value: 12345}, {What: "ms of a check", Value: 7, Most: true},
		}},
		{Name: "torture etcd", Commit: "def", Figures: []figures.Figure{{What: "fault kill", Value: 210}, {What: "ms after kill", Value: 1234, Most: true}}},
		{Name: "torture sqlite", Commit: "def", OK: true, Figures: []figures.Figure{{What: "fault lock", Value: 3}, {What: "ms after lock", Value: 20, Most: true}}},
	}}
	for _, want := range []string{
		"| histories | passed | 1m1s | 12,345 operations, at most 7 ms of a check | 2026-11-16, commit abc; 2 cores |",
		"| torture etcd | **failed** |",
	} {
		if got := proofTable(p); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	for _, want := range []string{
		"| fault | etcd: times | service after at most | sqlite: times | service after at most |",
		"| kill | 210 | 1.23 s | – | – |", "| lock | – | – | 3 | 0.02 s |",
	} {
		if got := faultTable(p); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestFuzzTable(t *testing.T) {
	t.Parallel()
	p := figures.Proof{Fuzz: []figures.FuzzTarget{
		{Package: "profile", Name: "FuzzSlug", Seconds: 600.4, Inputs: 1234567, New: 89, Findings: 1, Date: "2026-11-16", Commit: "abc"},
	}}
	if got, want := fuzzTable(p), "| `profile` | `FuzzSlug` | 600 | 1,234,567 | 89 | 1 | 2026-11-16, commit abc |"; !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
	if got := fuzzTable(figures.Proof{}); !strings.Contains(got, "has not run yet") {
		t.Errorf("without a run: %s", got)
	}
}
