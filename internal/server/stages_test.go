package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/authtest"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/memstore"
)

// pipes is a listener without a network: writes block until they are read, so that it works with
// fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial returns the client's end, and a channel with the time when the server closes its own.
func (p *pipes) dial() (net.Conn, <-chan time.Time) {
	client, server := net.Pipe()
	noted := &closeNoter{Conn: server, closed: make(chan time.Time, 1)}
	p.conns <- noted
	return client, noted.closed
}

// closeNoter is a connection that reports when it is closed.
type closeNoter struct {
	net.Conn
	once   sync.Once
	closed chan time.Time
}

func (c *closeNoter) Close() error {
	c.once.Do(func() { c.closed <- time.Now() })
	return c.Conn.Close()
}

// The server closes the connection of a slow client after the timeout of each stage.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const (
		head = "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
		get  = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
	)
	for _, c := range []struct {
		what, sends string
		tls, full   bool
		reads       int // bytes of the response; -1 means all
		says        string
		within      time.Duration
	}{
		{what: "nothing at all", within: 5 * time.Second, reads: -1},
		{what: "half a head", sends: head[:50], within: 5 * time.Second, reads: -1},
		{what: "no TLS handshake", tls: true, within: 5 * time.Second, reads: -1},
		{what: "no body", sends: head, within: 15 * time.Second, reads: -1, says: "HTTP/1.1 408 "},
		{what: "half a body", sends: head + strings.Repeat(" ", 500), within: 15 * time.Second, reads: -1, says: "HTTP/1.1 408 "},
		{what: "no body, and no room for it", sends: head, full: true, within: 15 * time.Second, reads: -1, says: "HTTP/1.1 503 "},
		{what: "it does not read", sends: get, within: 30 * time.Second, reads: 0},
		{what: "it reads a little", sends: get, within: 30 * time.Second, reads: 100, says: "HTTP/1.1 200 "},
		{what: "no second request", sends: "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", within: 2 * time.Minute, reads: -1, says: "HTTP/1.1 200 "},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pipes := newPipes()
				listener := net.Listener(pipes)
				if c.tls {
					listener = withTLS(t, listener)
				}
				s := serveStages(t, memstore.New(memstore.Config{}), listener, Config{})
				if c.full {
					s.limits.gate = limit.NewSemaphore(1, 0, time.Second)
					s.limits.gate.Acquire(t.Context())
				}
				conn, closed := pipes.dial()
				defer func() { _ = conn.Close() }()
				begin := time.Now()
				go func() { _, _ = io.WriteString(conn, c.sends) }()
				said := make([]byte, max(0, c.reads))
				if c.reads < 0 {
					said, _ = io.ReadAll(conn)
				} else if _, err := io.ReadFull(conn, said); err != nil {
					t.Error(err)
				}
				// net/http waits half a second for unread data when it closes a connection.
				if took := (<-closed).Sub(begin); took > c.within+time.Second || c.says != "HTTP/1.1 503 " && took < c.within {
					t.Errorf("it was closed after %v, want %v", took, c.within)
				}
				if !strings.HasPrefix(string(said), c.says) {
					t.Errorf("the response is %.300q", said)
				}
			})
		})
	}
}

// serveStages runs a server with the default timeouts on a store.
func serveStages(t *testing.T, store dibs.Store, listener net.Listener, cfg Config) *Server {
	t.Helper()
	registry, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Registry, cfg.Store = registry, store
	s := New(cfg)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener, Timeouts{}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := registry.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// withTLS returns a listener that has a certificate.
func withTLS(t *testing.T, listener net.Listener) net.Listener {
	t.Helper()
	certificate := authtest.NewAuthority(t).Server(t, "server").TLS(t)
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
}
