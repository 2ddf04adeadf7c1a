package figures_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

func TestParseFigure(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]figures.Figure{
		"figure: histories = 1000":                         {What: "histories", Value: 1000},
		"    run_test.go:12: figure: ms of it all <= 12.5": {What: "ms of it all", Value: 12.5, Most: true},
	} {
		if got, ok := figures.ParseFigure(line); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "figure: histories", "figure: = 3", "histories = 3", "figure: names = many"} {
		if got, ok := figures.ParseFigure(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// Parts of a run at one commit are added up, another commit begins anew, and other runs stay.
func TestMergeProof(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "proof.json")
	merge := func(part figures.ProofRun) figures.ProofRun {
		t.Helper()
		var sum figures.ProofRun
		if err := figures.UpdateProof(path, func(p *figures.Proof) {
			p.Merge(part)
			sum = p.Run(part.Name)
		}); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	part := func(name, commit string, ok bool, kills, ms float64) figures.ProofRun {
		return figures.ProofRun{Name: name, Commit: commit, OK: ok, Seconds: 60, Figures: []figures.Figure{
			{What: "kills", Value: kills}, {What: "ms", Value: ms, Most: true},
		}}
	}
	merge(part("torture", "a", true, 3, 100))
	merge(part("fuzz", "a", true, 1, 1))
	merge(part("torture", "a", false, 4, 50))
	sum := merge(part("torture", "a", true, 5, 70))
	if sum.OK || sum.Seconds != 180 || sum.Figure("kills") != 12 || sum.Figure("ms") != 100 || sum.Figure("other") != 0 {
		t.Errorf("the sum is %+v", sum)
	}
	if again := merge(part("torture", "b", true, 1, 1)); !again.OK || again.Seconds != 60 || again.Figure("kills") != 1 {
		t.Errorf("at another commit: %+v", again)
	}
	p, err := figures.ReadProof(path)
	if err != nil || len(p.Runs) != 2 || p.Runs[0].Name != "fuzz" {
		t.Errorf("%+v, %v", p, err)
	}
}

// Several processes, or goroutines, add to the file at once.
func TestUpdateProofConcurrently(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "proof.json")
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 25 {
				if err := figures.UpdateProof(path, func(p *figures.Proof) {
					p.AddFuzz(figures.FuzzTarget{Package: "internal/wire", Name: "FuzzEvent", Seconds: 60, Inputs: 1000})
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	p, err := figures.ReadProof(path)
	if sum := p.Target("internal/wire", "FuzzEvent"); err != nil || sum.Seconds != 6000 || sum.Inputs != 100_000 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Runs of a fuzz target are added up, and the last one says when and at which commit.
func TestAddFuzz(t *testing.T) {
	t.Parallel()
	var p figures.Proof
	for _, run := range []figures.FuzzTarget{
		{Package: "profile", Name: "FuzzSlug", Seconds: 1, Inputs: 10, New: 3, Findings: 1, Date: "2026-11-15", Commit: "a"},
		{Package: "dibsclient", Name: "FuzzStream", Seconds: 2},
		{Package: "profile", Name: "FuzzSlug", Seconds: 4, Inputs: 20, New: 1, Date: "2026-11-16", Commit: "b"},
	} {
		p.AddFuzz(run)
	}
	want := figures.FuzzTarget{Package: "profile", Name: "FuzzSlug", Seconds: 5, Inputs: 30, New: 4, Findings: 1, Date: "2026-11-16", Commit: "b"}
	if got := p.Target("profile", "FuzzSlug"); got != want || len(p.Fuzz) != 2 || p.Fuzz[0].Package != "dibsclient" {
		t.Errorf("%+v", p)
	}
	if got := p.Target("profile", "FuzzOther"); got.Seconds != 0 || got.Name != "FuzzOther" {
		t.Errorf("%+v", got)
	}
}
