package pgproxy

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"
)

// conn is the connection of one client, and the one to the server that belongs to it. One
// goroutine reads what the client asks, another what the server answers: a server may say
// something at any time.
type conn struct {
	p          *Proxy
	number     int
	clientConn net.Conn
	serverConn net.Conn
	client     *pgproto3.Backend  // Written to by the goroutine with the answers.
	server     *pgproto3.Frontend // Written to by the goroutine with the requests.

	pid   atomic.Uint32 // Of the server's process, known when the connection has begun.
	once  sync.Once
	ended chan struct{} // Closed when the client is cut off or left.
	gone  chan struct{} // Closed when the server is done too.

	// What follows belongs to the goroutine with the requests.

	steps   []step            // The exchange as far as it is known.
	sent    int               // How many of the steps the server has already, because of a Flush.
	prepare map[string]string // The text of each prepared statement, by its name.
	portals map[string]string // The text of each portal, by its name.
	busy    bool              // Whether an exchange is not answered yet.
	status  byte              // As of the last answer.
	counts  map[string]int    // How often a rule matched in the present transaction.

	// And this is how it tells the one with the answers.
	treatment atomic.Pointer[treatment]
	ready     chan byte
}

func newConn(p *Proxy, client, server net.Conn) *conn {
	return &conn{
		p:          p,
		clientConn: client,
		serverConn: server,
		client:     pgproto3.NewBackend(client, client),
		server:     pgproto3.NewFrontend(server, server),
		ended:      make(chan struct{}),
		gone:       make(chan struct{}),
		prepare:    map[string]string{},
		portals:    map[string]string{},
		status:     statusIdle,
		counts:     map[string]int{},
		ready:      make(chan byte, 1),
	}
}

// cut ends both connections. The one to the server is closed for writing alone, so that
// its end tells when the server is done with what it has received.
func (c *conn) cut() {
	c.once.Do(func() {
		close(c.ended)
		_ = c.clientConn.Close()
		if half, ok := c.serverConn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
}

func (c *conn) close() {
	c.cut()
	_ = c.serverConn.Close()
}

func (c *conn) serve() {
	defer close(c.gone)
	if !c.start() {
		return
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.answers()
		c.cut()
	}()
	c.requests()
	<-answered
}

// requests reads what the client sends until it leaves or is cut off.
func (c *conn) requests() {
	for {
		msg, err := c.client.Receive()
		if err != nil {
			c.cut()
			return
		}
		ok := true
		switch m := msg.(type) {
		case *pgproto3.Terminate:
			// The server closes its side, and with that ours is closed.
			c.send(m)
			return
		case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
			// They belong to an exchange which the server is already at.
			ok = c.send(m)
		case *pgproto3.Flush:
			ok = c.await() && c.forward(len(c.steps)) && c.send(m)
		case *pgproto3.Sync, *pgproto3.Query, *pgproto3.FunctionCall:
			c.collect(m)
			ok = c.await() && c.exchange()
			c.steps, c.sent = nil, 0
		default:
			c.collect(m)
		}
		if !ok {
			c.cut()
			return
		}
	}
}

// await waits for the answer to the exchange before, and reports whether there was one: the
// state in which it leaves the transaction says what the next one means.
func (c *conn) await() bool {
	if !c.busy {
		return true
	}
	select {
	case c.status = <-c.ready:
		c.busy = false
		return true
	case <-c.ended:
		return false
	}
}

// send sends a message to the server at once.
func (c *conn) send(msg pgproto3.FrontendMessage) bool {
	c.server.Send(msg)
	return c.server.Flush() == nil
}
