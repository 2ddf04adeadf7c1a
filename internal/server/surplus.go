package server

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/calldibs/dibs/internal/peer"
)

// connection is the one that a request came over.
type connection struct {
	surplus bool        // it is one too many
	welcome func()      // notes that somebody has signed in on it
	foreign func() bool // whether it is from a program of another user of this machine
}

type connectionKey struct{}

// mark tells requests about their connection. One too many lasts for one answer: its client
// is told why, and health is still shown. But a stranger has to go for it, if there is one.
func (c *connections) mark(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{
		surplus: c.limit > 0 && c.n.Load() >= c.limit && !c.spare(),
		welcome: sync.OnceFunc(func() { c.welcome(conn) }),
		foreign: sync.OnceValue(func() bool { return peer.OfAnotherUser(conn.LocalAddr(), conn.RemoteAddr()) }),
	})
}

// isForeign reports whether a request is known to come from a program of another user of this
// machine, such as a proxy's.
func isForeign(r *http.Request) bool {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	return ok && c.foreign()
}

func isSurplus(r *http.Request) bool {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	return ok && c.surplus
}

// welcome notes that the caller of a request has signed in: its connection is no stranger's.
func welcome(r *http.Request) {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		c.welcome()
	}
}

// behind returns a listener that accepts nothing while even the surplus is too large. What
// comes then waits where it costs the process nothing.
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

// Accept makes room, or waits for it, and then waits for a connection.
func (d *door) Accept() (net.Conn, error) {
	for d.open.n.Load() >= d.most {
		d.open.spare()
		select {
		case <-d.open.left:
		case <-d.closed:
			return nil, net.ErrClosed
		}
	}
	return d.Listener.Accept()
}

// Close ends the listener, also while it waits for room.
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Listener.Close()
}
