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
