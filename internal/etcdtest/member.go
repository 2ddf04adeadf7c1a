//go:build unix

package etcdtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/logtest"
)

// programVariable names an etcd program to run instead, for example of another version.
const programVariable = "DIBS_TEST_ETCD"

// The heartbeat interval and the election timeout in milliseconds. etcd's defaults are 100
// and 1000; these are enough for one machine.
const tick, election = 50, 500

// config configures a member.
type config struct {
	Program                          string // empty means the one in the folder member
	Name, Dir, Client, Peer, Cluster string
	Advertise                        string // where the others reach Peer
	Log                              string // a file that gets what it says; empty means none
	MaxTxnOps                        uint
	Quota                            int64
	Sync, TLS                        bool
}

// scheme is the URL scheme of clients.
func (c config) scheme() string {
	if c.TLS {
		return "https"
	}
	return "http"
}

// Member is one server of a cluster. Call its methods from one goroutine at a time.
type Member struct {
	config  config
	tls     *tls.Config
	network *network // nil if there is none
	index   int      // in the cluster

	process *exec.Cmd
	stdin   io.Closer
	stderr  *logtest.Buffer
	exited  chan struct{}
}

// Endpoint is where clients connect to.
func (m *Member) Endpoint() string { return m.config.Client }

// Certificate is the PEM file of the member's own certificate.
func (m *Member) Certificate() string {
	return filepath.Join(m.config.Dir, "fixtures", "client", "cert.pem")
}

func (m *Member) start() error {
	var err error
	if m.process, err = m.config.command(); err != nil {
		return err
	}
	if m.network != nil {
		m.enter()
	}
	m.stderr, m.exited = new(logtest.Buffer), make(chan struct{})
	m.process.Stderr = m.stderr
	if m.stdin, err = m.process.StdinPipe(); err != nil {
		return err
	}
	// A terminal's Ctrl-C is for this process, which ends its members when it no longer needs them.
	m.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.process.Start(); err != nil {
		return err
	}
	// An etcd that is not the one in the folder member does not notice that its parent ends.
	forget := harness.GuardProcess(m.process.Process.Pid)
	go func(process *exec.Cmd, exited chan struct{}) {
		_ = process.Wait() // it was killed on purpose
		forget()
		close(exited)
	}(m.process, m.exited)
	return nil
}

// enter runs the process in the member's own network.
func (m *Member) enter() {
	inside := exec.Command("ip", append([]string{"netns", "exec", m.network.space(m.index), m.process.Path}, m.process.Args[1:]...)...)
	inside.Env = m.process.Env
	m.process = inside // it keeps its process ID, because ip becomes the program
}

// command is the command of a member, with the flags of any etcd since 3.4.10.
func (c config) command() (*exec.Cmd, error) {
	client := c.scheme() + "://" + c.Client
	args := []string{
		"--name=" + c.Name, "--data-dir=" + c.Dir, "--initial-cluster=" + c.Cluster,
		"--listen-peer-urls=http://" + c.Peer, "--initial-advertise-peer-urls=http://" + c.Advertise,
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		fmt.Sprint("--heartbeat-interval=", tick), fmt.Sprint("--election-timeout=", election),
	}
	if c.Log == "" {
		args = append(args, "--log-level=error")
	} else {
		args = append(args, "--log-level=info", "--log-outputs=stderr,"+c.Log)
	}
	if !c.Sync {
		args = append(args, "--unsafe-no-fsync")
	}
	if c.MaxTxnOps > 0 {
		args = append(args, fmt.Sprint("--max-txn-ops=", c.MaxTxnOps))
	}
	if c.TLS {
		args = append(args, "--auto-tls")
	}
	if c.Quota > 0 {
		args = append(args, fmt.Sprint("--quota-backend-bytes=", c.Quota))
	}
	program := cmp.Or(c.Program, os.Getenv(programVariable))
	if program == "" {
		var err error
		if program, err = memberProgram(); err != nil {
			return nil, err
		}
	}
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), "GOMAXPROCS=2")
	return command, nil
}

// failure is the output of a member that has ended, or "".
func (m *Member) failure() string {
	select {
	case <-m.exited:
		return "output: " + m.stderr.String()
	default:
		return ""
	}
}

func (m *Member) end() {
	if m.process == nil || m.process.Process == nil {
		return
	}
	_ = m.process.Process.Kill() // it may have ended
	_ = m.stdin.Close()
	<-m.exited
}

// Index is the number of the member in the cluster, from 0.
func (m *Member) Index() int { return m.index }

// Kill ends the member at once, as a power failure does.
func (m *Member) Kill() { m.end() }

// Restart starts a member that was killed.
func (m *Member) Restart(tb harness.TB) {
	tb.Helper()
	if err := m.start(); err != nil {
		tb.Fatal(err)
	}
}

// AwaitEnd waits until the member ends by itself, as etcd does when it cannot write.
func (m *Member) AwaitEnd(tb harness.TB) {
	tb.Helper()
	select {
	case <-m.exited:
	case <-time.After(patience):
		tb.Fatalf("etcdtest: %s does not end", m.config.Name)
	}
}

// Pause stops the member: it does nothing, but its connections stay open.
func (m *Member) Pause(tb harness.TB) { m.signal(tb, syscall.SIGSTOP) }

// Resume continues a paused member.
func (m *Member) Resume(tb harness.TB) { m.signal(tb, syscall.SIGCONT) }

func (m *Member) signal(tb harness.TB, sig syscall.Signal) {
	tb.Helper()
	if err := m.process.Process.Signal(sig); err != nil {
		tb.Fatal(err)
	}
}

// leads reports whether the member is the leader.
func (m *Member) leads() (bool, error) {
	if m.failure() != "" {
		return false, nil
	}
	client, err := connect(m.tls, m.Endpoint())
	if err != nil {
		return false, err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	status, err := client.Status(ctx, m.Endpoint())
	if err != nil {
		return false, err
	}
	return status.Leader == status.Header.MemberId, nil
}
