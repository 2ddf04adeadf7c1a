package core

import (
	"sync"
	"time"
)

// tellFailures is how often the log is told of an engine that goes on failing for the same
// cause: a full disk must not fill the log as well.
const tellFailures = time.Minute

// failures counts the requests that an engine failed, until the log is told.
type failures struct {
	mu     sync.Mutex
	last   string // what it was told last
	at     time.Time
	untold int
}

// add returns how many requests have failed since the log was told, if it is time to tell, or 0.
func (f *failures) add(err error, requests int, now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.untold += requests
	e := asError(err)
	state := string(e.Code) + string(e.Cause)
	if state == f.last && now.Sub(f.at) < tellFailures {
		return 0
	}
	failed := f.untold
	f.last, f.at, f.untold = state, now, 0
	return failed
}
