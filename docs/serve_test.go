package docs_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// beServer is the environment variable with the arguments for TestBeServer.
const beServer = "DIBS_TEST_BE_SERVER"

// TestBeServer does not test anything: serveProcess starts it in another process, as dibs serve.
func TestBeServer(t *testing.T) {
	args := os.Getenv(beServer)
	if args == "" {
		t.Skip("serveProcess runs this")
	}
	os.Exit(cli.Process{
		Args: strings.Split(args, "\n"), Stdout: os.Stdout, Stderr: os.Stderr, Environ: map[string]string{},
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
