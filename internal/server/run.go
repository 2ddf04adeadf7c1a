package server

import (
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
	// farewell is how long answers say that their connection ends, before connections
	// without a request are closed: a request on its way would be lost with them.
	farewell = 500 * time.Millisecond
)

// Timeouts bound what connections may take. Zero means 5 s for a request's head, two
// minutes for a connection without a request, 20 s to drain.
type Timeouts struct {
	ReadHeader, Idle, Drain time.Duration
}

// Run answers requests until the context ends, and then drains: for half a second every
// answer is the last one of its connection; then nobody new is let in, and what is under
// way is answered, for as long as draining may take.
func (s *Server) Run(ctx context.Context, l net.Listener, t Timeouts) error {
	open := newConnections(s.cfg.Limits.MaxConnections, s.cfg.Metrics.connections)
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: orDefault(t.ReadHeader, readHeaderTimeout),
		IdleTimeout:       orDefault(t.Idle, idleTimeout),
		MaxHeaderBytes:    maxHeader,
		ConnState:         open.track,
		ConnContext:       open.mark,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug), // clients that go away, mostly
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(open.behind(l)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), orDefault(t.Drain, drainTimeout))
	defer cancel()
	open.awaitNone(drain, farewell)
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Logger.Warn("requests were still under way when the time to drain was over")
		err = srv.Close()
	}
	return err
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}
