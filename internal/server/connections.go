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

	"github.com/calldibs/dibs/internal/backoff"
)

// crowd is from how many connections on it shows in the process's memory that they are
// gone.
const crowd = 1000

// connections counts those that are open, and knows which of them can be spared.
type connections struct {
	n     atomic.Int64
	most  atomic.Int64 // since memory was last given back
	limit int64        // beyond it connections are surplus; 0: there is none
	left  chan struct{}
	gauge prometheus.Gauge

	mu sync.Mutex
	// strangers are connections on which nobody has signed in and no request is under way:
	// they cost nothing to make, by the thousand. The one that has waited longest is first.
	strangers list.List
	at        map[net.Conn]*list.Element // in strangers
	known     map[net.Conn]bool          // on which somebody has signed in
}

func newConnections(limit int, gauge prometheus.Gauge) *connections {
	return &connections{
		limit: int64(limit), left: make(chan struct{}, 1), gauge: gauge,
		at: make(map[net.Conn]*list.Element), known: make(map[net.Conn]bool),
	}
}

func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stranger, waits := c.at[conn]; waits {
		c.strangers.Remove(stranger)
		delete(c.at, conn)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		if !c.known[conn] {
			c.at[conn] = c.strangers.PushBack(conn)
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.known, conn)
	case http.StateActive:
	}
	switch state {
	case http.StateNew:
		c.come()
	case http.StateClosed, http.StateHijacked:
		c.leave()
	case http.StateActive, http.StateIdle:
	}
}

// spare closes the stranger's connection that has waited longest, and reports whether there
// was one. It is gone a moment later.
func (c *connections) spare() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.strangers.Front()
	if first == nil {
		return false
	}
	conn := c.strangers.Remove(first).(net.Conn)
	delete(c.at, conn)
	go func() { _ = conn.Close() }() // TLS says goodbye first, which may take as long as its client likes
	return true
}

// welcome notes that somebody has signed in on a connection.
func (c *connections) welcome(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[conn] = true
}

func (c *connections) come() {
	n := c.n.Add(1)
	c.gauge.Inc()
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
}

// leave collects what a crowd has left behind once most of it is gone. A process that
// has nothing to do would otherwise keep it for minutes.
func (c *connections) leave() {
	n := c.n.Add(-1)
	c.gauge.Dec()
	select {
	case c.left <- struct{}{}:
	default:
	}
	if most := c.most.Load(); most >= crowd && n <= most/8 && c.most.CompareAndSwap(most, n) {
		go runtime.GC()
	}
}

// awaitNone waits until there is none, but no longer than so.
func (c *connections) awaitNone(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for c.n.Load() > 0 && ctx.Err() == nil {
		_ = backoff.Sleep(ctx, 10*time.Millisecond) // the loop checks the context
	}
}
