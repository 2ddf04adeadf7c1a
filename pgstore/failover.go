package pgstore

import (
	"errors"
	"sync"
)

// failovers counts changes of the server process: restarts, and standbys that took over. An
// asynchronous standby may lack the last commits, and give out their revisions again. So groups
// that were decided on records of the former server are decided again.
type failovers struct {
	mu      sync.Mutex
	started string // when the server was started, in its own words
	count   int
}

var errFailover = errors.New("another server process serves the database than when this was decided")

// observe notes when the server was started, and reports whether the server has changed.
func (f *failovers) observe(started string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.started != "" && f.started != started
	f.started = started
	if changed {
		f.count++
	}
	return changed
}

// generation returns how many failovers there were.
func (f *failovers) generation() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}
