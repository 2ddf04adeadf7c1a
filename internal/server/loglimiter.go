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
	mu       sync.Mutex
	unlogged map[limitReason]int
	last     map[limitReason]time.Time
}

// add counts one. If a message is due, it returns the count since the last message, else 0.
func (l *logLimiter) add(reason limitReason, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unlogged == nil {
		l.unlogged, l.last = make(map[limitReason]int), make(map[limitReason]time.Time)
	}
	l.unlogged[reason]++
	if last, ok := l.last[reason]; ok && now.Sub(last) < logEvery {
		return 0
	}
	count := l.unlogged[reason]
	l.unlogged[reason], l.last[reason] = 0, now
	return count
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

// logFailure logs that requests could not be answered, if a message is due. Trouble with the
// store is left to the health board, and a client that disconnected is not a failure.
func (s *Server) logFailure(e *dibs.Error) {
	switch {
	case e.Code != dibs.CodeUnavailable && e.Code != dibs.CodeOutcomeUnknown:
		return // it was answered
	case errors.Is(e, context.Canceled), e.Cause != "" && s.storeInTrouble():
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

// storeInTrouble reports whether the health board has logged trouble with a store.
func (s *Server) storeInTrouble() bool {
	if s.cfg.Health == nil {
		return false
	}
	_, found := s.cfg.Health.Failing()
	return found
}
