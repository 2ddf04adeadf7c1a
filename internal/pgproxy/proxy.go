package pgproxy

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between clients and one server. Its methods may be called at any time from
// any goroutine.
type Proxy struct {
	tb            testing.TB
	network, addr string
	folder        string
	listener      net.Listener
	running       sync.WaitGroup

	hook       atomic.Pointer[Hook]
	refuse     atomic.Bool
	dropNotes  atomic.Bool
	notes      atomic.Int64
	cancels    atomic.Int64
	exchanges  atomic.Int64
	statements atomic.Int64
	arrayLimit atomic.Int64

	mu         sync.Mutex
	closed     bool
	conns      map[*conn]struct{}
	lastConn   int
	rules      []Rule
	violations []string
	recording  bool
	log        []string
}

// Start starts a proxy in front of the server at this address; it ends with the test.
func Start(tb testing.TB, network, addr string) *Proxy {
	tb.Helper()
	// Not the folder of the test: with its name in it, the path may be longer than the
	// hundred bytes which the address of a socket has room for.
	folder, err := os.MkdirTemp("", "pgproxy")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(folder) })
	listener, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{tb: tb, network: network, addr: addr, folder: folder, listener: listener, conns: map[*conn]struct{}{}}
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// DSN returns the connection string of the server, keywords and values or a URL, so that
// it leads through the proxy.
func (p *Proxy) DSN(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		// The last value of a keyword counts.
		return dsn + " host='" + p.folder + "' port=5432"
	}
	u.Host = ""
	query := u.Query()
	query.Set("host", p.folder)
	query.Set("port", "5432")
	u.RawQuery = query.Encode()
	return u.String()
}

// SetHook sets what decides about exchanges from now on; nil passes all of them.
func (p *Proxy) SetHook(hook Hook) {
	if hook == nil {
		p.hook.Store(nil)
		return
	}
	p.hook.Store(&hook)
}

// Refuse sets whether new connections are refused, those with a request to cancel too.
func (p *Proxy) Refuse(refuse bool) { p.refuse.Store(refuse) }

// CutAll closes every connection now.
func (p *Proxy) CutAll() {
	for _, c := range p.present() {
		c.cut()
	}
}

// Settle waits until the server is done with every connection that was cut or left: from
// then on its transactions have happened or not, and hold no locks.
func (p *Proxy) Settle() {
	p.tb.Helper()
	timeout := time.After(10 * time.Second)
	for _, c := range p.present() {
		select {
		case <-c.ended:
		default:
			continue
		}
		select {
		case <-c.gone:
		case <-timeout:
			p.tb.Error("pgproxy: the server is still busy with a connection that was cut")
			return
		}
	}
}

func (p *Proxy) present() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		all = append(all, c)
	}
	return all
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.refuse.Load() {
			_ = client.Close()
			continue
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial(p.network, p.addr)
	if err != nil {
		_ = client.Close()
		return
	}
	c := newConn(p, client, server)
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	if !closed {
		c.serve()
	}
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	for _, c := range p.present() {
		c.close()
	}
	p.running.Wait()
}
