package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// newsEvery is how often the log tells that requests are turned away: whoever sends too
// many of them must not fill it.
const newsEvery = 10 * time.Second

// news is what the log has not been told yet, by reason.
type news struct {
	mu     sync.Mutex
	untold map[limitReason]int
	last   map[limitReason]time.Time
}

// turnedAway counts a request that was turned away, and tells so now and then.
func (s *Server) turnedAway(reason limitReason) {
	s.cfg.Metrics.limited.WithLabelValues(string(reason)).Inc()
	if n := s.limits.news.add(reason, time.Now()); n > 0 {
		s.cfg.Logger.Warn("requests are turned away", "reason", string(reason), "requests", n)
	}
}

// byFailure is what requests that could not be answered are counted by, for the log alone.
const byFailure limitReason = "failure"

// tellFailure tells now and then of requests that could not be answered, and why. What comes
// of trouble with the store is told by what looks after that; a client that has gone is no
// failure.
func (s *Server) tellFailure(e *dibs.Error) {
	switch {
	case e.Code != dibs.CodeUnavailable && e.Code != dibs.CodeOutcomeUnknown:
		return // it was answered
	case errors.Is(e, context.Canceled), e.Cause != "" && s.inTrouble():
		return
	}
	if n := s.limits.news.add(byFailure, time.Now()); n > 0 {
		s.cfg.Logger.Warn("requests could not be answered", "error", e, "requests", n)
	}
}

// byPing is what looks at an engine that does not answer are counted by, for the log alone.
const byPing limitReason = "ping"

// tellNoAnswer tells now and then that the engine does not answer /readyz, which takes no key.
func (s *Server) tellNoAnswer(err error) {
	if n := s.limits.news.add(byPing, time.Now()); n > 0 {
		s.cfg.Logger.Warn("the engine does not answer", "error", err, "looks", n)
	}
}

// inTrouble reports whether the log is told of trouble with a store.
func (s *Server) inTrouble() bool {
	if s.cfg.Health == nil {
		return false
	}
	_, found := s.cfg.Health.Failing()
	return found
}

// add returns how many there were since it was last told, if it is time to tell, or 0.
func (n *news) add(reason limitReason, now time.Time) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.untold == nil {
		n.untold, n.last = make(map[limitReason]int), make(map[limitReason]time.Time)
	}
	n.untold[reason]++
	if last, told := n.last[reason]; told && now.Sub(last) < newsEvery {
		return 0
	}
	count := n.untold[reason]
	n.untold[reason], n.last[reason] = 0, now
	return count
}
