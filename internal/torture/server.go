package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/harness"
)

// configuration is that of the servers: the policies of [linear.Config]. Sweeps are frequent, so
// that they meet commands.
const configuration = `sweepEvery = "250ms"
suggestions = 0
[policies.plain]
minTTL = "1ms"
[policies.kept]
minTTL = "1ms"
quarantine = "1d"
`

// configurationBeside is that of servers on a store of the user's, with names that are none of the run's. They do not sweep:
// a server that does not know the witness of a namespace would put off the suspects there. The store may
// have API keys, so callers have one of their own, which only these servers accept.
func configurationBeside() (text, key string, err error) {
	key = auth.NewSecret()
	digest, err := auth.DigestOf(key)
	text = strings.Replace(configuration, `"250ms"`, `"0s"`, 1) +
		fmt.Sprintf("[[keys]]\nname = \"torture\"\nhash = \"%s\"\ngrants = [{ may = [\"all\"], in = [\"*\"] }]\n", digest)
	return text, key, err
}

// mostStarting is how long a server may take to start, or to serve again after a fault.
const mostStarting = time.Minute

// server is a process, with the link by which callers reach it.
type server struct {
	number  int
	command []string
	env     []string
	key     string // for the callers; empty means that none is needed
	logPath string

	process *exec.Cmd
	ended   chan struct{}
	link    *link
	between func(server int, address string) string

	registry *dibs.Registry // gives up at the first failure
	patient  *dibs.Registry // tries again
	probes   atomic.Int64
}

// open starts engine and servers, unless ctx ends before.
func (t *run) open(ctx context.Context) error {
	t.tell("start", t.sum)
	var err error
	doErr := t.harness.Do(func() { t.engine, err = openEngine(ctx, t) })
	if err = errors.Join(err, doErr); err != nil {
		return err
	}
	if t.faults, err = t.engine.choose(t.Faults); err != nil {
		return err
	}
	config, key := filepath.Join(t.Folder, "dibs.toml"), ""
	text := configuration
	if !t.isPrivate() {
		if text, key, err = configurationBeside(); err != nil {
			return err
		}
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	for i := range t.Servers {
		s := &server{
			number: i + 1, key: key, env: t.withClock(i + 1), between: t.between, logPath: filepath.Join(t.Folder, fmt.Sprintf("server-%d.log", i+1)),
			command: append(append([]string{}, t.Program...), "serve", "--listen", "127.0.0.1:0", "--config", config, "--store", t.engine.store),
		}
		t.servers = append(t.servers, s)
		t.harness.Cleanup(s.close)
		if err := s.openUnless(ctx); err != nil {
			return err
		}
	}
	return nil
}

// registries are those of the callers, one for each server.
func (t *run) registries() (all []*dibs.Registry) {
	for _, s := range t.servers {
		all = append(all, s.registry)
	}
	return all
}

// open starts a server and connects to it.
func (s *server) open() error { return s.openUnless(context.Background()) }

// openUnless is open, and gives up if ctx ends.
func (s *server) openUnless(ctx context.Context) (err error) {
	if s.link, err = newLink(""); err != nil {
		return err
	}
	if err := s.startUnless(ctx); err != nil {
		return err
	}
	url := "http://" + s.link.address()
	// A client that retries a command would get a replay of its own.
	if s.registry, err = dibsclient.Dial(url, dibsclient.Options{Key: s.key, Retries: -1, Timeout: patience}); err != nil {
		return err
	}
	s.patient, err = dibsclient.Dial(url, dibsclient.Options{Key: s.key})
	return err
}

func (s *server) close() {
	for _, registry := range []*dibs.Registry{s.registry, s.patient} {
		if registry != nil {
			_ = registry.Close() // the process is killed anyway
		}
	}
	s.kill()
	if s.link != nil {
		s.link.close()
	}
}

var serving = regexp.MustCompile(`msg=serving listen=\S+:(\d+)`)

// start starts the process, and returns once it listens. A run that is interrupted still needs it, to be audited.
func (s *server) start() error { return s.startUnless(context.Background()) }

// startUnless is start, and gives up if ctx ends.
func (s *server) startUnless(ctx context.Context) error {
	log, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	s.process = exec.Command(s.command[0], s.command[1:]...)
	s.process.Env = s.env // in this process's folder: the address of a store may be a relative path
	s.process.Stdout, s.process.Stderr = log, log
	detach(s.process)
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("a server cannot start: %w", err)
	}
	ended, forget := make(chan struct{}), harness.GuardProcess(s.process.Process.Pid)
	s.ended = ended
	go func(process *exec.Cmd) {
		_ = process.Wait() // a kill ends it
		forget()
		close(ended)
	}(s.process)
	return s.awaitListening(ctx, info.Size())
}

// awaitListening waits until the log, from an offset on, says where the server listens.
func (s *server) awaitListening(ctx context.Context, offset int64) error {
	var log []byte
	for deadline := time.Now().Add(mostStarting); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		hasEnded := s.hasEnded() // before its log is read, which then has its last words
		all, err := os.ReadFile(s.logPath)
		if err != nil {
			return err
		}
		log = all[offset:]
		if port := serving.FindSubmatch(log); port != nil {
			address := net.JoinHostPort("127.0.0.1", string(port[1]))
			if s.between != nil {
				address = s.between(s.number-1, address)
			}
			s.link.lead(address)
			return nil
		}
		if hasEnded {
			return fmt.Errorf("server %d does not start%s", s.number, lastWords(log))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w before server %d listened%s", ErrInterrupted, s.number, lastWords(log))
		}
	}
	return fmt.Errorf("server %d does not listen within %v%s", s.number, mostStarting, lastWords(log))
}

// complaint matches what a log says is wrong: the error of a command, or a warning.
var complaint = regexp.MustCompile(`(?m)^(dibs: .*|.*\blevel=(?:WARN|ERROR) .*|panic: .*)$`)

// lastWords returns why a server does not start, by its log: the last complaint, which hints may follow, or the
// last line.
func lastWords(log []byte) string {
	log = bytes.TrimSpace(log)
	words := log[bytes.LastIndexByte(log, '\n')+1:]
	if found := complaint.FindAll(log, -1); len(found) > 0 {
		words = found[len(found)-1]
	}
	if at := bytes.Index(words, []byte("msg=")); at > 0 {
		words = words[at:] // without time and level
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + string(words)
}

// kill ends the process at once. The system keeps what it has written: see the fault power.
func (s *server) kill() {
	if s.process == nil || s.process.Process == nil {
		return
	}
	_ = s.process.Process.Kill() // it may have ended by itself
	<-s.ended
}

// hasEnded reports whether the process has ended.
func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// kill kills a server, which must not have ended by itself before.
func (t *run) kill(s *server) {
	t.mustRun(s)
	s.kill()
}

func (t *run) mustRun(s *server) {
	if s.hasEnded() {
		t.found(Violation{Kind: "server", What: fmt.Sprintf("server %d ended by itself: %s", s.number, s.process.ProcessState)})
	}
}

// awaitService waits until the server acknowledges a change.
func (s *server) awaitService(scope string) error {
	var err error
	for deadline := time.Now().Add(mostStarting); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = s.probe(scope); err == nil {
			return nil
		}
		if s.hasEnded() {
			return fmt.Errorf("server %d ended by itself: %s", s.number, s.process.ProcessState)
		}
	}
	return fmt.Errorf("server %d acknowledges nothing within %v: %w", s.number, mostStarting, err)
}

func (s *server) probe(scope string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.registry.Reserve(ctx, dibs.Reserve{
		Namespace: scope + ".probe.plain", TTL: dibs.For(time.Minute),
		Value: "server-" + strconv.Itoa(s.number) + "-" + strconv.FormatInt(s.probes.Add(1), 10),
	})
	return err
}

// badWords must not be in the log of a server.
var badWords = [][]byte{[]byte("panic"), []byte("DATA RACE"), []byte("fatal error")}

// examineServers finds what must not have happened to servers.
func (t *run) examineServers() {
	for _, s := range t.servers {
		if t.broken == nil {
			t.mustRun(s)
		}
		t.examineLog(s, fmt.Sprintf("server %d", s.number))
	}
}

// examineLog finds what a server must never say.
func (t *run) examineLog(s *server, who string) {
	log, err := os.ReadFile(s.logPath)
	if err != nil {
		t.found(Violation{Kind: "server", What: err.Error()})
		return
	}
	for line := range bytes.Lines(log) {
		for _, bad := range badWords {
			if bytes.Contains(line, bad) {
				t.found(Violation{Kind: "server", What: fmt.Sprintf("the log of %s says: %s", who, bytes.TrimSpace(line))})
			}
		}
	}
}
