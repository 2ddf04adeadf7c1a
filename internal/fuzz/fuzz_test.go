package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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
