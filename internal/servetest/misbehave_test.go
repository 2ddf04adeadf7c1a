package servetest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slowPace is the time between two bytes of a slow client.
const slowPace = 250 * time.Millisecond

// timeouts returns the timeouts of the server. Short ones keep the test short; on a busy machine they would also end the connections
// of quick clients.
func timeouts() (header, request time.Duration) {
	if *measure {
		return time.Second, 1500 * time.Millisecond
	}
	return 8 * time.Second, 8 * time.Second
}

// TestMisbehavingClients lets very many clients misbehave at once. Meanwhile the server
// answers others, as fast as before if it has the machine to itself, and afterwards it gives
// the memory back.
func TestMisbehavingClients(t *testing.T) {
	if !*measure {
		t.Parallel()
	}
	header, request := timeouts()
	p := serve(t, t.TempDir(), "--read-header-timeout", header.String(), "--request-timeout", request.String())
	calm := calmProbe(t, p.url)
	before, _ := p.resident()

	stop := probe(t, p.url)
	s := &attack{t: t, address: strings.TrimPrefix(p.url, "http://"), header: header, request: request}
	s.each(100, s.slowHead)
	s.each(100, s.slowBody)
	s.each(200, s.halfBody)
	s.each(20, s.hugeHead)
	idle := s.idle(idleConnections(t))
	s.clients.Wait()
	s.stillServed(idle)
	during, _ := p.resident()
	for _, conn := range idle {
		_ = conn.Close()
	}
	s.checkMemory(p, before, during)
	took := stop()

	// A hundred milliseconds is the goal. On a machine with other load the limit is a
	// multiple of the duration without clients.
	limit := max(250*time.Millisecond, 10*calm)
	t.Logf("/healthz: p50 %v, p99 %v, at most %v, of %d; without clients p99 %v",
		percentile(took, 50), percentile(took, 99), took[len(took)-1], len(took), calm)
	if p99 := percentile(took, 99); *measure && p99 > limit {
		t.Errorf("/healthz took %v (p99), want %v at most", p99, limit)
	}
}

// calmProbe returns the 99th percentile of /healthz without other clients.
func calmProbe(t *testing.T, url string) time.Duration {
	t.Helper()
	stop := probe(t, url)
	time.Sleep(300 * time.Millisecond) // the duration of the measurement
	return percentile(stop(), 99)
}

// idleConnections is how many to open: 2,000, or up to 10,000 if make baselines runs it and the system allows it.
func idleConnections(t *testing.T) int {
	t.Helper()
	want := 2_000
	if *measure {
		want = 10_000
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	const others = 1_000
	if uint64(want)+others > files.Max {
		t.Logf("only %d files may be open: fewer than %d idle connections", files.Max, want)
		want = max(0, int(files.Max)-others)
	}
	return want
}

// attack is a set of misbehaving clients.
type attack struct {
	t       *testing.T
	address string
	clients sync.WaitGroup

	header, request time.Duration // the timeouts of the server
}

// each starts n clients. A client's error fails the test.
func (s *attack) each(n int, client func(net.Conn) error) {
	for range n {
		s.clients.Go(func() {
			conn, err := s.dial()
			if err == nil {
				err = client(conn)
				_ = conn.Close()
			}
			if err != nil {
				s.t.Error(err)
			}
		})
	}
}

func (s *attack) dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.address, patience)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(patience))
	}
	return conn, err
}

const (
	getHealth = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	postHead  = "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
)

// slowHead sends its head slowly, byte by byte.
func (s *attack) slowHead(conn net.Conn) error {
	return drip(conn, getHealth, s.header)
}

// slowBody sends its body slowly, byte by byte.
func (s *attack) slowBody(conn net.Conn) error {
	if _, err := io.WriteString(conn, postHead); err != nil {
		return err
	}
	return drip(conn, strings.Repeat(" ", 1000), s.request)
}

// halfBody sends half a body, and nothing more.
func (s *attack) halfBody(conn net.Conn) error {
	if _, err := io.WriteString(conn, postHead+strings.Repeat(" ", 500)); err != nil {
		return err
	}
	return awaitEnd(conn, s.request)
}

// hugeHead sends a head of a megabyte.
func (s *attack) hugeHead(conn net.Conn) error {
	go func() {
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Huge: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
	}()
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return fmt.Errorf("a huge head: %w", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge && response.StatusCode != http.StatusBadRequest {
		return fmt.Errorf("a huge head got %d", response.StatusCode)
	}
	return awaitEnd(conn, 0)
}

// drip sends a byte per slowPace until the server closes the connection.
func drip(conn net.Conn, text string, limit time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- awaitEnd(conn, limit) }()
	pace := time.NewTicker(slowPace)
	defer pace.Stop()
	for i := range len(text) {
		select {
		case err := <-ended:
			return err
		case <-pace.C:
			_, _ = io.WriteString(conn, text[i:i+1]) // an error here ends the reader, too
		}
	}
	return <-ended
}

// awaitEnd reads until the server closes the connection, which it does soon after a limit.
// Before that it may send an error.
func awaitEnd(conn net.Conn, limit time.Duration) error {
	begin := time.Now()
	said, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the server does not disconnect a slow client: %w", err)
	}
	if took := time.Since(begin); *measure && took > limit+10*time.Second {
		return fmt.Errorf("the server disconnected a slow client after %v, want %v", took, limit)
	}
	if status := string(said[:min(len(said), 12)]); status != "" && !strings.HasPrefix(status, "HTTP/1.1 4") && limit > 0 {
		return fmt.Errorf("a slow client got %q", status)
	}
	return nil
}

// idle opens connections with one answered request each, which then stay idle.
func (s *attack) idle(n int) []net.Conn {
	conns := make([]net.Conn, n)
	const openers = 32
	var opening sync.WaitGroup
	for opener := range openers {
		opening.Go(func() {
			for i := opener; i < n; i += openers {
				var err error
				if conns[i], err = s.dial(); err == nil {
					err = askHealth(conns[i])
				}
				if err != nil {
					s.t.Errorf("connection %d: %v", i, err)
					return
				}
			}
		})
	}
	opening.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
	return conns
}

// stillServed checks that idle connections still work.
func (s *attack) stillServed(conns []net.Conn) {
	for i := 0; i < len(conns); i += 100 {
		if err := askHealth(conns[i]); err != nil {
			s.t.Errorf("an idle connection: %v", err)
		}
	}
}

// askHealth asks whether the server is up, and reads no more than the answer.
func askHealth(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil { // the connection may have been idle for long
		return err
	}
	if _, err := io.WriteString(conn, getHealth); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("/healthz: %d", response.StatusCode)
	}
	return err
}

// checkMemory waits until the server has given back the memory of the clients.
func (s *attack) checkMemory(p *process, before, during int) {
	const most = 150 // MB
	last, ok := p.resident()
	if !ok || raced {
		s.t.Log("the memory of the process is not checked")
		return
	}
	begin := time.Now()
	await(s.t, "the server gives memory back", func() bool {
		last, _ = p.resident()
		return last < most
	})
	s.t.Logf("memory: %d MB before, %d MB during, %d MB %v after", before, during, last, time.Since(begin).Round(time.Millisecond))
}
