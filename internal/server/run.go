package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	maxHeader         = 64 << 10
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 20 * time.Second
	// closeNotice is how long responses announce the end of their connection before idle
	// connections are closed: a request in transit would be lost with them.
	closeNotice = 500 * time.Millisecond
)

// Timeouts bound connections. Zero means 5 s for a request's head, two minutes for an idle
// connection, 20 s to drain.
type Timeouts struct {
	ReadHeader, Idle, Drain time.Duration
}

// Run serves requests until the context ends, and then drains: for half a second every response
// closes its connection; then Run accepts no new connection and finishes the requests in
// flight, within the drain timeout.
func (s *Server) Run(ctx context.Context, l net.Listener, t Timeouts) error {
	open := newConnections(s.cfg.Limits.MaxConnections, s.cfg.Metrics.connections)
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: cmp.Or(t.ReadHeader, readHeaderTimeout),
		IdleTimeout:       cmp.Or(t.Idle, idleTimeout),
		MaxHeaderBytes:    maxHeader,
		ConnState:         open.track,
		ConnContext:       open.connContext,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug), // mostly about clients that disconnect
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(open.limitListener(l)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(t.Drain, drainTimeout))
	defer cancel()
	open.awaitNone(drain, closeNotice)
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Logger.Warn("drain timeout exceeded with requests in flight")
		err = srv.Close()
	}
	return err
}
