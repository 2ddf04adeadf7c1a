package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program in README.md, run twice, prints what it should.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	_, code, _ := strings.Cut(readText(t, "README.md"), "```go\npackage main")
	code, _, _ = strings.Cut(code, "```")
	program := buildHere(t, "package main"+code)
	for _, want := range []string{
		"slug:alice-bob belongs to wedding/42\n",
		"taken; free are [alice-bob-2 alice-bob-3 alice-bob-4]\n",
	} {
		run := exec.CommandContext(t.Context(), program)
		run.Dir = filepath.Dir(program)
		if got, err := run.CombinedOutput(); err != nil || string(got) != want {
			t.Errorf("the program prints %q, %v, want %q", got, err, want)
		}
	}
}

// buildHere builds a program as part of this module, so that it needs no download.
func buildHere(t *testing.T, code string) (program string) {
	t.Helper()
	folder := t.TempDir()
	source := filepath.Join(folder, "main.go")
	here, err := filepath.Abs(filepath.Join(root, "internal/readme/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: source}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{source: code, filepath.Join(folder, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(folder, "readme")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(folder, "overlay.json"), "-o", program, "./internal/readme")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
