package server

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// crowd is from how many connections on it shows in the process's memory that they are
// gone.
const crowd = 1000

// connections counts those that are open.
type connections struct {
	n     atomic.Int64
	most  atomic.Int64 // since memory was last given back
	limit int64        // beyond it connections are surplus; 0: there is none
	left  chan struct{}
	gauge prometheus.Gauge
}

func newConnections(limit int, gauge prometheus.Gauge) *connections {
	return &connections{limit: int64(limit), left: make(chan struct{}, 1), gauge: gauge}
}

func (c *connections) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.come()
	case http.StateClosed, http.StateHijacked:
		c.leave()
	case http.StateActive, http.StateIdle:
	}
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
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}
