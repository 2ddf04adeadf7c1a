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
	// statsAge is how long counts are kept: counting looks at all names.
	statsAge     = 30 * time.Second
	statsTimeout = 10 * time.Minute
	// statsShare keeps counting to a hundredth of the time, however many names there are.
	statsShare = 100
)

// stats keeps the counts of names for a while.
type stats struct {
	registry *dibs.Registry

	mu       sync.Mutex
	last     dibs.Stats
	taken    time.Time
	took     time.Duration
	counting *count // under way, or nil
}

// count is one that is under way. Done is closed at its end.
type count struct {
	done chan struct{}
	err  error
}

// get returns counts that are not too old, or the last ones while new ones are taken: on
// a large registry that takes longer than anybody waits.
func (s *stats) get(ctx context.Context) (dibs.Stats, time.Time, error) {
	c := s.begin()
	if c == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.last, s.taken, nil
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		return dibs.Stats{}, time.Time{}, ctx.Err()
	}
	if c.err != nil {
		return dibs.Stats{}, time.Time{}, c.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.taken, nil
}

// latest returns the last counts, if there are any, and has new ones taken if it is time
// to.
func (s *stats) latest() (dibs.Stats, bool) {
	s.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, !s.taken.IsZero()
}

// begin counts if it is time to, and returns what to wait for: nothing where there are
// counts.
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
	if err != nil {
		return nil, s.problemOf(err)
	}
	return ok(wire.StatsOf(counts, taken)), nil
}
