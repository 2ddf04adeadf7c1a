package pgproxy

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs/internal/harness"
)

// Proxy connects clients to one server. It is safe for concurrent use.
type Proxy struct {
	tb            harness.TB
	network, addr string
	folder        string
	listener      net.Listener
	running       sync.WaitGroup

	hook       atomic.Pointer[Hook]
	refuse     atomic.Bool
	dropNotes  atomic.Bool
	notes      atomic.Int64
	cancels    atomic.Int64
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

// Start starts a proxy for the server at this address; it ends with the test.
func Start(tb harness.TB, network, addr string) *Proxy {
	tb.Helper()
	// Not in t.TempDir: with the name of the test, the path may exceed the hundred bytes
	// of a socket address.
	folder, err := os.MkdirTemp("", "pgproxy")
	if err != nil {
		tb.Fatal(err)
	}
	forget := harness.GuardFolder(folder)
	tb.Cleanup(func() {
		os.RemoveAll(folder)
		forget()
	})
	listener, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{tb: tb, network: network, addr: addr, folder: folder, listener: listener, conns: map[*conn]struct{}{}}
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// DSN changes the connection string of the server, keywords and values or a URL, to go
// through the proxy.
func (p *Proxy) DSN(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		// The last value of a keyword wins.
		return dsn + " host='" + p.folder + "' port=5432"
	}
	u.Host = ""
	query := u.Query()
	query.Set("host", p.folder)
	query.Set("port", "5432")
	u.RawQuery = query.Encode()
	return u.String()
}

// SetHook sets the hook; nil passes all exchanges.
func (p *Proxy) SetHook(hook Hook) {
	if hook == nil {
		p.hook.Store(nil)
		return
	}
	p.hook.Store(&hook)
}

// Refuse sets whether new connections are refused, also those of cancel requests.
func (p *Proxy) Refuse(refuse bool) { p.refuse.Store(refuse) }

// CutAll closes all connections.
func (p *Proxy) CutAll() {
	for _, c := range p.present() {
		c.cut()
	}
}

// AwaitServer waits until the server is done with every connection that was cut or left:
// then its transactions are committed or rolled back, and hold no locks.
func (p *Proxy) AwaitServer() {
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
