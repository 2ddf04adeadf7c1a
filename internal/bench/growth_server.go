//go:build unix

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/workload"
)

// serverProcess is dibs serve, in a process of its own.
type serverProcess struct {
	cmd     *exec.Cmd
	url     string
	started time.Duration // how long it took until it was ready
}

var serving = regexp.MustCompile(`msg=serving listen=\S+:(\d+)`)

// buildServer builds the command line, unless the lab has one.
func (l *lab) buildServer() {
	l.Helper()
	if l.program != "" {
		return
	}
	l.program = filepath.Join(l.TempDir(), "dibs")
	build := exec.Command("go", "build", "-o", l.program, "github.com/calldibs/dibs/cmd/dibs")
	if out, err := build.CombinedOutput(); err != nil {
		l.Fatalf("%v\n%s", err, out)
	}
}

// childEnv makes a test binary the command line, which needs no build of its own then. The command line ignores it.
const childEnv = "BENCH_CHILD"

// serve starts a server on the big store and returns once it is ready.
func (e *estate) serve(l *lab) *serverProcess {
	l.Helper()
	begin := time.Now()
	p := &serverProcess{cmd: exec.Command(l.program, "serve", "--listen", "127.0.0.1:0", "--store", e.address(e.big))}
	p.cmd.Env = []string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), childEnv + "=1"}
	log, err := p.cmd.StderrPipe()
	l.must(err)
	l.must(p.cmd.Start())
	l.Cleanup(func() { p.stop() })
	lines := bufio.NewScanner(log)
	var tail []string
	for p.url == "" && lines.Scan() {
		tail = append(tail, lines.Text())
		if port := serving.FindStringSubmatch(lines.Text()); port != nil {
			p.url = "http://127.0.0.1:" + port[1]
		}
	}
	if p.url == "" {
		l.Fatalf("the server did not start:\n%s", strings.Join(tail, "\n"))
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	for ; !p.ready(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			l.Fatal("the server is not ready after a minute")
		}
	}
	p.started = time.Since(begin)
	return p
}

func (p *serverProcess) ready() bool {
	response, err := http.Get(p.url + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (p *serverProcess) stop() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait() // its exit code means nothing here
	}
}

// peakMemory returns the most resident memory that the server ever had, in megabytes.
func (p *serverProcess) peakMemory(l *lab) float64 {
	l.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	l.must(err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		l.Fatal("the system does not tell how much memory a process has had")
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	l.must(err)
	return float64(kilobytes) / 1024
}

// steadyFor is how many rounds the load on the server lasts whose memory is measured.
const steadyFor = 5

// memoryAtSize is G2: the resident memory of a server under a steady load of all kinds of calls.
func memoryAtSize(l *lab, e *estate) []row {
	p := e.serve(l)
	defer p.stop()
	client, err := dibsclient.Dial(p.url, dibsclient.Options{})
	l.must(err)
	defer func() { l.must(client.Close()) }()
	mix := workload.Mix{workload.Reserve: 2, workload.Lifecycle: 1, workload.Resolve: 10, workload.Check: 4}
	report, err := workload.Run(context.WithoutCancel(l.Context()), client, workload.Config{
		Namespace: namespace, Callers: fillers, For: steadyFor * l.length, Names: l.names, Mix: mix,
	})
	l.must(err)
	for _, call := range report.Calls {
		l.Logf("%s over HTTP on %s: %s, p99 %.1f ms, refused %v, errors %v", call.Call, e.engine, figures.PerSecond.Format(call.PerSecond), call.Latency.P99, call.Refused, call.Errors)
	}
	return []row{{what: "resident memory of a server on " + e.engine + ", peak", unit: figures.Megabytes, ours: figuresOf(p.peakMemory(l)), want: atMost(150)}}
}

// startAtSize is G5: how long a server takes until it is ready.
func startAtSize(l *lab, e *estate) []row {
	took := l.takeTurns(func() reading {
		p := e.serve(l)
		defer p.stop()
		return reading{figure: p.started.Seconds()}
	})
	return []row{{what: "start of a server on " + e.engine, unit: figures.Seconds, ours: figuresOf(took[0].figures...), want: atMost(0.2)}}
}
