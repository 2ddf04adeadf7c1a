package server

import (
	"context"
	"net"
	"net/http"
	"sync"
)

type surplusKey struct{}

// mark tells requests that come over a connection too many. Such a connection lasts for one
// answer: its client is told why, and health is still shown.
func (c *connections) mark(ctx context.Context, _ net.Conn) context.Context {
	if c.limit > 0 && c.n.Load() >= c.limit {
		return context.WithValue(ctx, surplusKey{}, true)
	}
	return ctx
}

func isSurplus(r *http.Request) bool { return r.Context().Value(surplusKey{}) != nil }

// behind returns a listener that accepts nobody while even the surplus is too large. They
// wait where they cost the process nothing.
func (c *connections) behind(l net.Listener) net.Listener {
	if c.limit == 0 {
		return l
	}
	return &door{Listener: l, open: c, most: c.limit + c.limit/8 + 16, closed: make(chan struct{})}
}

// door is a listener that is shut now and then.
type door struct {
	net.Listener
	open   *connections
	most   int64
	closed chan struct{}
	once   sync.Once
}

// Accept waits for room, and then for a connection.
func (d *door) Accept() (net.Conn, error) {
	for d.open.n.Load() >= d.most {
		select {
		case <-d.open.left:
		case <-d.closed:
			return nil, net.ErrClosed
		}
	}
	return d.Listener.Accept()
}

// Close ends the listener, also for whoever waits for room.
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Listener.Close()
}
