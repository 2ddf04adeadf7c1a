package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

func figureOf(t *testing.T, file, name, what string) float64 {
	t.Helper()
	all, err := figures.ReadProof(file)
	if err != nil {
		t.Fatal(err)
	}
	return all.Run(name).Figure(what)
}

// A run in slices goes on until its figures are reached, and does nothing if they are.
func TestSlices(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := proof{file: filepath.Join(folder, "proof.json"), name: "kills", total: time.Nanosecond, slice: time.Minute, least: "kills=5"}
	count := filepath.Join(folder, "count")
	command := []string{"sh", "-c", "echo x >> " + count + "; echo 'figure: kills = 2'; echo 'figure: seconds {for} <= 3'"}
	for range 2 {
		if err := p.run(command); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := os.ReadFile(count)
	if err != nil || len(runs) != 6 {
		t.Errorf("it ran %d times, %v", len(runs)/2, err)
	}
	if n, most := figureOf(t, p.file, "kills", "kills"), figureOf(t, p.file, "kills", "seconds 1m0s"); n != 6 || most != 3 {
		t.Errorf("%v kills, %v seconds", n, most)
	}
}

// A run that is not in slices replaces the one before. One that fails is kept as a failure.
func TestOnce(t *testing.T) {
	t.Parallel()
	p := proof{file: filepath.Join(t.TempDir(), "proof.json"), name: "once"}
	for range 2 {
		if err := p.run([]string{"echo", "figure: names = 7"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := figureOf(t, p.file, "once", "names"); n != 7 {
		t.Errorf("%v names", n)
	}
	if err := p.run([]string{"sh", "-c", "echo 'figure: names = 8'; exit 3"}); err == nil {
		t.Error("a failure is no error")
	}
	all, err := figures.ReadProof(p.file)
	if r := all.Run("once"); err != nil || r.OK || r.Figure("names") != 8 || r.Commit == "" || r.Date == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A command that did nothing proves nothing.
func TestNoFigures(t *testing.T) {
	t.Parallel()
	p := proof{file: filepath.Join(t.TempDir(), "proof.json"), name: "none"}
	if err := p.run([]string{"echo", "nothing to do"}); err == nil || !strings.Contains(err.Error(), "tells no figures") {
		t.Errorf("got %v", err)
	}
	if all, err := figures.ReadProof(p.file); err != nil || all.Run("none").OK {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	report := `{"engine": "a private SQLite file", "operations": 12, "faults": [{"fault": "kill", "count": 3, "serviceMaxMs": 80.5}], "violations": []}`
	var run figures.ProofRun
	for _, f := range read(report) {
		run.Add(f)
	}
	if run.Figure("operations") != 12 || run.Figure("fault kill") != 3 || run.Figure("ms after kill") != 80.5 {
		t.Errorf("of torture: %+v", run)
	}
	if _, err := parseLeast("kills"); err == nil || !strings.Contains(err.Error(), "kill=200") {
		t.Errorf("got %v", err)
	}
}
