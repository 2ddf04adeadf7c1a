package docs_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
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
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", filepath.Join(folder, "overlay.json"), "-o", program, "./internal/readme")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// beServer is the environment variable with the arguments for TestBeServer.
const beServer = "DIBS_TEST_BE_SERVER"

// TestBeServer does not test anything: other tests start it in another process, as dibs.
func TestBeServer(t *testing.T) {
	args := os.Getenv(beServer)
	if args == "" {
		t.Skip("other tests run this")
	}
	os.Exit(cli.Process{
		Args: strings.Split(args, "\n"), Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: map[string]string{},
	}.Run())
}

// serveProcess runs a server on a file, in a process of its own, and returns its URL. At
// the end of the test it stops the server with SIGTERM.
func serveProcess(t *testing.T, store string) (url string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program, "-test.run=^TestBeServer$")
	args := []string{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + store}
	server.Env = append(os.Environ(), beServer+"="+strings.Join(args, "\n"))
	log := new(strings.Builder)
	server.Stderr = log
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		for lines.Scan() { // until it ends
		}
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, log)
		}
	})
	return readAddress(t, lines)
}

// readAddress reads the output of dibs serve until it prints the server's address.
func readAddress(t *testing.T, lines *bufio.Scanner) (url string) {
	t.Helper()
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "Dibs is at "); ok {
			url, _, _ = strings.Cut(rest, ",")
			return url
		}
	}
	t.Fatal("the server does not print its address")
	return ""
}
