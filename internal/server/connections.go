package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/calldibs/dibs/internal/peer"
)

// manyConnections is how many connections must have been open before their end is worth a
// garbage collection.
const manyConnections = 1000

// connections counts the open connections, and knows which of them can be closed to make room.
type connections struct {
	n       atomic.Int64
	closing atomic.Int64 // those of n that are being closed to make room
	limit   int64        // connections beyond it are surplus; 0 means no limit
	ended   chan struct{}
	gauge   prometheus.Gauge

	mu   sync.Mutex
	peak int64 // the most since the last garbage collection
	// anonymous are connections without an authenticated caller and without a request in flight,
	// the one that has waited longest first. A client can open thousands of them at no cost.
	anonymous     list.List
	elements      map[net.Conn]*list.Element // of anonymous
	authenticated map[net.Conn]bool
	evicted       map[net.Conn]bool // that are being closed
}

func newConnections(limit int, gauge prometheus.Gauge) *connections {
	return &connections{
		limit: int64(limit), ended: make(chan struct{}, 1), gauge: gauge,
		elements: make(map[net.Conn]*list.Element), authenticated: make(map[net.Conn]bool), evicted: make(map[net.Conn]bool),
	}
}

// track is called with each change of a connection's state.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.elements[conn]; ok {
		c.anonymous.Remove(element)
		delete(c.elements, conn)
	}
	if (state == http.StateNew || state == http.StateIdle) && !c.authenticated[conn] && !c.evicted[conn] {
		c.elements[conn] = c.anonymous.PushBack(conn)
	}
	switch state {
	case http.StateNew:
		c.gauge.Inc()
		c.peak = max(c.peak, c.n.Add(1))
	case http.StateClosed, http.StateHijacked:
		if c.evicted[conn] {
			delete(c.evicted, conn)
			c.closing.Add(-1)
		}
		delete(c.authenticated, conn)
		c.closed()
	case http.StateActive, http.StateIdle:
	}
}

// closeOldest closes the anonymous connection that has waited longest, and reports whether
// there was one. The connection ends a moment later.
func (c *connections) closeOldest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.anonymous.Front()
	if first == nil {
		return false
	}
	conn := c.anonymous.Remove(first).(net.Conn)
	delete(c.elements, conn)
	c.evicted[conn] = true
	c.closing.Add(1)
	go func() { _ = conn.Close() }() // TLS sends its closing alert first, which may block
	return true
}

// staying returns how many connections are open, and are not being closed.
func (c *connections) staying() int64 { return c.n.Load() - c.closing.Load() }

func (c *connections) markAuthenticated(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authenticated[conn] = true
}

// closed collects garbage once most of many connections have ended. An idle process would
// otherwise keep their memory for minutes.
func (c *connections) closed() {
	n := c.n.Add(-1)
	c.gauge.Dec()
	select {
	case c.ended <- struct{}{}:
	default:
	}
	if c.peak >= manyConnections && n <= c.peak/8 {
		c.peak = n
		go runtime.GC()
	}
}

// awaitNone waits until no connection is open, for at most the given time.
func (c *connections) awaitNone(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for c.n.Load() > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

type connection struct {
	surplus           bool        // over the limit
	markAuthenticated func()      // notes that a caller has signed in on it
	foreign           func() bool // whether a program of another user of this machine is known to have opened it, such as a proxy
}

type connectionKey struct{}

// connContext puts the connection into the contexts of its requests. A connection over the limit
// serves one response, so that its client learns why, and health stays visible. If an anonymous
// connection can be closed instead, the new one is not over the limit.
func (c *connections) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{
		surplus:           c.limit > 0 && c.staying() >= c.limit && !c.closeOldest(),
		markAuthenticated: sync.OnceFunc(func() { c.markAuthenticated(conn) }),
		foreign:           sync.OnceValue(func() bool { return peer.OfAnotherUser(conn.LocalAddr(), conn.RemoteAddr()) }),
	})
}

// unknownConnection is the connection of a request to a handler without [Server.Run].
var unknownConnection = &connection{markAuthenticated: func() {}, foreign: func() bool { return false }}

func connectionOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		return c
	}
	return unknownConnection
}

// limitListener returns a listener that stops accepting while there are too many surplus
// connections. New ones then wait in the kernel's backlog.
func (c *connections) limitListener(l net.Listener) net.Listener {
	if c.limit == 0 {
		return l
	}
	return &limitListener{Listener: l, open: c, most: c.limit + c.limit/8 + 16, closed: make(chan struct{})}
}

// limitListener is a listener with a maximum of open connections.
type limitListener struct {
	net.Listener
	open   *connections
	most   int64
	closed chan struct{}
	once   sync.Once
}

// Accept makes room, or waits for it, and then waits for a connection.
func (l *limitListener) Accept() (net.Conn, error) {
	for l.open.n.Load() >= l.most {
		if l.open.staying() >= l.most {
			l.open.closeOldest()
		}
		select {
		case <-l.open.ended:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	return l.Listener.Accept()
}

// Close closes the listener, also while Accept waits for room.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
