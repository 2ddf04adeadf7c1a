package core

import (
	"sync"
	"time"
)

// logFailuresEvery is how often an engine that keeps failing for the same cause is logged: a
// full disk must not fill the log as well.
const logFailuresEvery = time.Minute

// failureLog counts the requests that fail because of the engine, between log lines.
type failureLog struct {
	mu        sync.Mutex
	lastCause string // code and cause of the last log line
	lastAt    time.Time
	unlogged  int // requests
}

// add counts failed requests. It returns how many have failed since the last log line if it is
// time for another one, else 0.
func (l *failureLog) add(err error, requests int, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlogged += requests
	e := asError(err)
	cause := string(e.Code) + string(e.Cause)
	if cause == l.lastCause && now.Sub(l.lastAt) < logFailuresEvery {
		return 0
	}
	failed := l.unlogged
	l.lastCause, l.lastAt, l.unlogged = cause, now, 0
	return failed
}
