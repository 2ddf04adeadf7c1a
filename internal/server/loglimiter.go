package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// logEvery is how often the log repeats a message about requests of one reason: a flood of
// requests must not flood the log.
const logEvery = 10 * time.Second

// logLimiter counts what was not logged, by reason.
type logLimiter struct {
	mu      sync.Mutex
	reasons map[limitReason]unlogged
}

// unlogged is how many requests came since the last message.
type unlogged struct {
	count int
	last  time.Time
}

// add counts one. If a message is due, it returns the count since the last message, else 0.
func (l *logLimiter) add(reason limitReason, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reasons == nil {
		l.reasons = make(map[limitReason]unlogged)
	}
	u := l.reasons[reason]
	u.count++
	if now.Sub(u.last) < logEvery {
		l.reasons[reason] = u
		return 0
	}
	l.reasons[reason] = unlogged{last: now}
	return u.count
}

// Reasons of the log limiter alone.
const (
	byFailure limitReason = "failure" // requests that could not be answered
	byPing    limitReason = "ping"    // pings of an engine that does not answer
)

// rejected counts a rejected request, and logs it if a message is due.
func (s *Server) rejected(reason limitReason) {
	s.cfg.Metrics.limited.WithLabelValues(string(reason)).Inc()
	if n := s.limits.log.add(reason, time.Now()); n > 0 {
		s.cfg.Logger.Warn("requests rejected", "reason", string(reason), "requests", n)
	}
}

// logFailure logs that requests could not be answered, if a message is due. The health monitor
// logs failures of the store, and a client that disconnected is not a failure.
func (s *Server) logFailure(e *dibs.Error) {
	if e.Code != dibs.CodeUnavailable && e.Code != dibs.CodeOutcomeUnknown { // it was answered
		return
	}
	_, failing := s.cfg.Health.Failing()
	if errors.Is(e, context.Canceled) || e.Cause != "" && failing {
		return
	}
	if n := s.limits.log.add(byFailure, time.Now()); n > 0 {
		s.cfg.Logger.Warn("requests could not be answered", "error", e, "requests", n)
	}
}

// logNoAnswer logs that the engine does not answer /readyz, if a message is due.
func (s *Server) logNoAnswer(err error) {
	if n := s.limits.log.add(byPing, time.Now()); n > 0 {
		s.cfg.Logger.Warn("the engine does not answer", "error", err, "pings", n)
	}
}
