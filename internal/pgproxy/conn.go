package pgproxy

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"
)

// conn is the connection of one client, and its connection to the server. One goroutine
// reads from the client, another one from the server: a server may send a message at any
// time.
type conn struct {
	p          *Proxy
	number     int
	clientConn net.Conn
	serverConn net.Conn
	client     *pgproto3.Backend  // Only the goroutine with the answers writes to it.
	server     *pgproto3.Frontend // Only the goroutine with the requests writes to it.

	pid   atomic.Uint32 // Of the server's process; set when the connection is established.
	once  sync.Once
	ended chan struct{} // Closed when the client is cut off or has left.
	gone  chan struct{} // Closed when the server is done, too.

	// The goroutine with the requests owns the following fields.

	steps   []step            // The messages of the current exchange so far.
	sent    int               // How many steps a Flush has sent to the server.
	prepare map[string]string // The text of each prepared statement, by its name.
	portals map[string]string // The text of each portal, by its name.
	busy    bool              // Whether an exchange has no answer yet.
	status  byte              // As of the last answer.
	counts  map[string]int    // How often a rule matched in the current transaction.

	// It passes treatments to the goroutine with the answers.
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

// cut ends both connections. The connection to the server is closed only for writing, so
// that its end shows when the server is done with what it has received.
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

// requests reads from the client until it leaves or is cut off.
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
			// The server closes its side, which closes ours.
			c.send(m)
			return
		case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
			// They belong to an exchange that the server has begun.
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

// await waits for the answer to the previous exchange, and reports whether there was one: its
// transaction status determines what the next exchange means.
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

// send sends a message to the server immediately.
func (c *conn) send(msg pgproto3.FrontendMessage) bool {
	c.server.Send(msg)
	return c.server.Flush() == nil
}
