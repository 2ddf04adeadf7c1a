package servetest_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/pgtest"
)

// childEnv makes the test binary the command line.
const childEnv = "DIBS_SERVETEST_CHILD"

// TestMain lets the test binary run as the real command line, in a separate process, or as
// a member of an etcd cluster.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(cli.Process{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		}.Run())
	}
	// The longest tests wait for leases and timeouts. Their files come first, so that they
	// start first.
	parallel.PerProcessor(4)
	etcdtest.Main(m)
}

// process is a running command line.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr logtest.Buffer
	ended          chan struct{}
	url            string // of a server
}

// start starts the command line in a folder, with no environment but env.
func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	return startWith(t, dir, env, nil, args...)
}

// startWith is start with a standard input.
func startWith(t *testing.T, dir string, env []string, stdin io.Reader, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdin = dir, stdin
	p.cmd.Env = append([]string{childEnv + "=1"}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the result is in ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() { p.examine(t) })
	return p
}

// examine kills the process, and searches its log for what must never be there.
func (p *process) examine(t *testing.T) {
	_ = p.cmd.Process.Kill()
	<-p.ended
	log := p.stderr.String()
	for _, bad := range []string{"DATA RACE", "panic"} {
		if strings.Contains(log, bad) {
			t.Errorf("%v: the log contains %q", p.cmd.Args[1:], bad)
		}
	}
	if t.Failed() {
		t.Logf("%v, %v\n%s\n%s", p.cmd.Args[1:], p.cmd.ProcessState, p.stdout.String(), log[max(0, len(log)-20_000):])
	}
}

// notRaced skips a test in the short form, which the race detector runs: its requests come one after the other, or what
// is concurrent is in a database. Other tests have the detector in the same code of the server.
func notRaced(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("without concurrent requests the race detector finds nothing")
	}
}

// writeFile writes a file into a folder.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func removeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func mustExist(t *testing.T, dir, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		t.Error(err)
	}
}

// newSchema returns a store in a new schema of a cluster.
func newSchema(t *testing.T, cluster *pgtest.Cluster) string {
	t.Helper()
	return cluster.DSN("postgres") + "&dibs_schema=" + url.QueryEscape(cluster.NewSchema(t))
}

// finish runs a command until it ends.
func finish(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := start(t, dir, nil, args...)
	p.wait(t)
	return p
}

// wait waits for the end and returns the exit code; -1 for a killed process.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%v does not end", p.cmd.Args[1:])
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// kill ends the process like a power failure.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	p.wait(t)
}

var serving = regexp.MustCompile(`msg=serving listen=\S+:(\d+)`)

// serve starts a server on a free port of localhost, and returns once it listens. Unless args say otherwise, it waits for requests as
// long as a busy machine may take to run their callers.
func serve(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	for _, timeout := range []string{"--read-header-timeout", "--request-timeout"} {
		if !slices.Contains(args, timeout) {
			args = append([]string{timeout, patience.String()}, args...)
		}
	}
	return listen(t, start(t, dir, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...))
}

// listen waits until a server listens.
func listen(t *testing.T, p *process) *process {
	t.Helper()
	await(t, "the server listens", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("the server did not start: %s", p.stderr.String())
		default:
		}
		port := serving.FindStringSubmatch(p.stderr.String())
		if port == nil {
			return false
		}
		p.url = "http://" + net.JoinHostPort("127.0.0.1", port[1])
		return true
	})
	return p
}

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	awaitWithin(t, patience, what, holds)
}

// awaitLoad waits until there is load: many requests, one after the other.
func awaitLoad(t *testing.T, holds func() bool) {
	t.Helper()
	awaitWithin(t, 3*patience, "there is load", holds)
}

func awaitWithin(t *testing.T, most time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", most, what)
		}
	}
}
