package server

import (
	"net"
	"net/http"
	"testing"
)

// refusing is a listener whose connections fail.
type refusing struct{ net.Listener }

func (refusing) Accept() (net.Conn, error) { return nil, net.ErrClosed }

// A connection that is being closed makes room for one other. Until it has ended, none is closed
// in its place: on a busy machine that takes long, and each new connection would end others.
func TestConnectionsAreClosedOnlyOnce(t *testing.T) {
	t.Parallel()
	c := newConnections(4, NewMetrics().connections)
	l := c.limitListener(refusing{}).(*limitListener)
	open := make([]net.Conn, l.most)
	for i := range open {
		open[i], _ = net.Pipe()
		c.track(open[i], http.StateNew)
	}
	accepted := make(chan error)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	for range 5 {
		c.ended <- struct{}{} // others end and begin
	}
	c.track(open[0], http.StateIdle) // its last request has been answered
	if got, want := c.staying(), l.most-1; got != want {
		t.Errorf("%d connections stay, want %d", got, want)
	}
	c.track(open[0], http.StateClosed)
	if err := <-accepted; err == nil {
		t.Error("the listener accepts")
	}
	if got, want := int64(c.anonymous.Len()), l.most-1; got != want || c.staying() != want || c.n.Load() != want {
		t.Errorf("%d connections are left, %d stay, %d are open, want %d", got, c.staying(), c.n.Load(), want)
	}
}
