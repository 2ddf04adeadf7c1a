package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// A fuzz target that make fuzz does not find would never run.
func TestFind(t *testing.T) {
	t.Parallel()
	targets, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []target{
		{".", "FuzzParseID"},
		{"profile", "FuzzSlug"},
		{"profile", "FuzzSlugStrict"}, // begins like another
		{"internal/server", "FuzzRequests"},
	} {
		if !slices.Contains(targets, want) {
			t.Errorf("%s is not found in %v", want, targets)
		}
	}
	if slices.ContainsFunc(targets, func(t target) bool { return t.pkg == "examples/web" }) {
		t.Error("a target of another module is found")
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	const output = `fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed
fuzz: elapsed: 3s, execs: 1204 (401/sec), new interesting: 3 (total: 15)
fuzz: elapsed: 6s, execs: 250411 (83069/sec), new interesting: 27 (total: 39)
PASS
`
	if executions, interesting := progress(output); executions != 250411 || interesting != 27 {
		t.Errorf("%d executions and %d new inputs", executions, interesting)
	}
	if executions, _ := progress("no fuzz tests to fuzz"); executions != 0 {
		t.Errorf("%d executions of none", executions)
	}
}

func TestInputsIn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, size := range map[string]int{"b": 20, "a": 10, "huge": maxKept + 1} {
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := inputsIn(folder)
	if want := []string{filepath.Join(folder, "a"), filepath.Join(folder, "b")}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("%v, %v, want %v", paths, err, want)
	}
	if paths, err := inputsIn(filepath.Join(folder, "absent")); err != nil || len(paths) != 0 {
		t.Errorf("an absent folder has %v, %v", paths, err)
	}
}

// Inputs are kept until there are enough, short and long ones. What is kept already does not count twice.
func TestKeepInputs(t *testing.T) {
	t.Parallel()
	cached, own := t.TempDir(), filepath.Join(t.TempDir(), "testdata")
	for i, name := range []string{"a", "b", "c", "d"} {
		if err := os.WriteFile(filepath.Join(cached, name), make([]byte, i+1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		n    int
		want []string
	}{{2, []string{"a", "c"}}, {2, []string{"a", "c"}}, {3, []string{"a", "b", "c"}}, {9, []string{"a", "b", "c", "d"}}} {
		if err := keepInputs(cached, own, c.n); err != nil {
			t.Fatal(err)
		}
		paths, err := inputsIn(own)
		var names []string
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("of which %d are kept: %v, %v, want %v", c.n, names, err, c.want)
		}
	}
}

// The target that has run least is next, for what it lacks, and not longer than a slice or than the time that is left. It does
// not run twice at once.
func TestNext(t *testing.T) {
	t.Parallel()
	a, b := target{"profile", "FuzzA"}, target{"profile", "FuzzB"}
	for name, c := range map[string]struct {
		ranA, ranB float64
		most, gone time.Duration
		want       target
		length     time.Duration
	}{
		"none has run":         {0, 0, 0, 0, a, time.Minute},
		"one has run less":     {100, 90, 0, 0, b, time.Minute},
		"little is missing":    {590, 600, 0, 0, a, 10 * time.Second},
		"each had its time":    {601, 600, 0, 0, b, 0},
		"little time is left":  {0, 0, time.Hour, time.Hour - 5*time.Second, a, 5 * time.Second},
		"the time is over":     {0, 0, time.Hour, time.Hour, a, 0},
		"too short to be used": {599.9, 600, 0, 0, a, 0},
	} {
		run := campaign{each: 10 * time.Minute, slice: time.Minute, most: c.most, waiting: []target{a, b}}
		run.ran.AddFuzz(figures.FuzzTarget{Package: a.pkg, Name: a.name, Seconds: c.ranA})
		run.ran.AddFuzz(figures.FuzzTarget{Package: b.pkg, Name: b.name, Seconds: c.ranB})
		next, length := run.next(c.gone)
		if max(0, length) != c.length || next != c.want && c.length > 0 {
			t.Errorf("%s: %v for %v, want %v for %v", name, next, length, c.want, c.length)
		}
		if slices.Contains(run.waiting, next) {
			t.Errorf("%s: %v runs, and waits", name, next)
		}
	}
	if _, length := (&campaign{each: time.Minute}).next(0); length != 0 {
		t.Errorf("without targets, one runs for %v", length)
	}
}

// Nothing that did not run looks like a target without findings.
func TestNothingIsFuzzed(t *testing.T) {
	t.Parallel()
	if _, err := (&campaign{each: time.Minute, atOnce: 1}).run(t.Context(), "no such target"); err == nil {
		t.Error("no target runs, and this is no error")
	}
	program := filepath.Join(t.TempDir(), "program.test")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 'testing: warning: no fuzz tests to fuzz'\necho PASS\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := (target{".", "FuzzOther"}).fuzz(t.Context(), program, time.Second); err != nil || r.ok {
		t.Errorf("a target that is not in the program: %v, %v", r, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if r, err := (target{".", "FuzzOther"}).fuzz(ended, program, time.Second); err != nil || !r.ok || !r.ended {
		t.Errorf("a target that was ended before it began: %v, %v", r, err)
	}
}

// A target that waits is not fuzzed.
func TestRan(t *testing.T) {
	t.Parallel()
	waits := exec.Command("sleep", "0.2")
	if err := waits.Run(); err != nil {
		t.Fatal(err)
	}
	if got := ran(waits, time.Hour); got <= 0 || got > time.Second {
		t.Errorf("a command that waits for an hour ran for %v", got)
	}
	if got := ran(waits, time.Nanosecond); got != time.Nanosecond {
		t.Errorf("a command with several processors ran for %v", got)
	}
	if got := ran(exec.Command("sleep"), time.Hour); got != 0 {
		t.Errorf("a command that was not started ran for %v", got)
	}
}

// The end of the time is no failure, and a failure at the end is one.
func TestTimeWasOver(t *testing.T) {
	t.Parallel()
	const end = "fuzz: elapsed: 2m0s, execs: 314738 (2622/sec), new interesting: 51 (total: 60)\n"
	for output, want := range map[string]bool{
		end + "--- FAIL: FuzzDecode (120.31s)\n    context deadline exceeded\nFAIL\n": true,
		end + "PASS\n": false,
		end + "--- FAIL: FuzzDecode (120.31s)\n    --- FAIL: FuzzDecode (0.00s)\n        fuzz_test.go:1: context deadline exceeded\nFAIL\n": false,
		end + "--- FAIL: FuzzDecode (9.31s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\nFAIL\n":                    false,
	} {
		if got := timeWasOver.MatchString(output); got != want {
			t.Errorf("%q: %v, want %v", output, got, want)
		}
	}
}
