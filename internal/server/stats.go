package server

import (
	"context"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	// statsAge is how long counts are cached.
	statsAge     = time.Second
	statsTimeout = 10 * time.Minute
	// statsShare keeps counting to a hundredth of the time, on engines that read all names for it.
	statsShare = 100
)

// stats caches the counts of names.
type stats struct {
	registry *dibs.Registry

	mu       sync.Mutex
	last     dibs.Stats
	taken    time.Time
	took     time.Duration
	counting *count // in progress, or nil
}

// count is a count in progress. Done is closed at its end.
type count struct {
	done chan struct{}
	err  error
}

// get returns the cached counts, even while a new count is in progress: on a large registry it
// takes too long to wait for. Only the first caller waits.
func (s *stats) get(ctx context.Context) (dibs.Stats, time.Time, error) {
	if c := s.begin(); c != nil {
		select {
		case <-c.done:
		case <-ctx.Done():
			return dibs.Stats{}, time.Time{}, ctx.Err()
		}
		if c.err != nil {
			return dibs.Stats{}, time.Time{}, c.err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.taken, nil
}

// latest returns the last counts, if there are any, and starts a new count if one is due.
func (s *stats) latest() (dibs.Stats, bool) {
	s.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, !s.taken.IsZero()
}

// begin starts a count if one is due. It returns the count to wait for; nil if there are counts
// already.
func (s *stats) begin() *count {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counting == nil && time.Since(s.taken) >= max(statsAge, s.took*statsShare) {
		s.counting = &count{done: make(chan struct{})}
		go s.run(s.counting)
	}
	if !s.taken.IsZero() {
		return nil
	}
	return s.counting
}

func (s *stats) run(c *count) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	begin := time.Now()
	counts, err := s.registry.Stats(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.last, s.taken, s.took = counts, time.Now(), time.Since(begin)
	}
	c.err, s.counting = err, nil
	close(c.done)
}

func (s *Server) getStats(ctx context.Context, _ *struct{}) (*answer[wire.Stats], error) {
	if err := s.may(ctx, access.Stats, allNamespaces); err != nil {
		return nil, err
	}
	counts, taken, err := s.stats.get(ctx)
	return ok(wire.StatsOf(counts, taken)), err
}
