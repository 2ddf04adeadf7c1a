// Package health tracks whether the engines of a server answer and can be written to: by the
// outcome of the calls that are made anyway, and by a small write of its own while there are
// no commits. It logs each change once, and refuses calls at once while an engine is known
// not to answer: a circuit breaker with a probe.
package health

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// Pace is how often engines are looked at. The zero Pace is a good one.
type Pace struct {
	// Idle is how long after the last commit a write is tried, so that a server which only
	// reads knows whether it could write. Zero means 15 seconds.
	Idle time.Duration
	// Gone is the pause between two looks at an engine that does not answer, Failing at one
	// that cannot be written to. Zero means 100 ms and one second.
	Gone, Failing time.Duration
	// Slow is how long a call may take before the engine is looked at. Zero means 2 seconds.
	Slow time.Duration
	// Answer is how long a look may take. Zero means 5 seconds.
	Answer time.Duration
	// Remind is how often the log is told of trouble that lasts. Zero means a minute.
	Remind time.Duration
}

func (p *Pace) setDefaults() {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{
		{&p.Idle, 15 * time.Second},
		{&p.Gone, 100 * time.Millisecond},
		{&p.Failing, time.Second},
		{&p.Slow, 2 * time.Second},
		{&p.Answer, 5 * time.Second},
		{&p.Remind, time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
}

// Board holds the state of the engines of a server. It is safe for concurrent use.
type Board struct {
	log  *slog.Logger
	pace Pace

	mu      sync.Mutex
	engines []*engine
}

// NewBoard returns a Board without engines.
func NewBoard(log *slog.Logger, pace Pace) *Board {
	pace.setDefaults()
	return &Board{log: log, pace: pace}
}

// State is the state of one engine.
type State struct {
	Store  string     // its name; empty where it is the only one
	Reads  bool       // whether it answers
	Writes bool       // whether it can be written to
	Cause  dibs.Cause // why not, as far as that is known
	Since  time.Time  // since when not; zero while all is well
}

// Watch returns a store that passes all calls on and notes how they end. It is probed until it
// is closed. The name is for the log, empty where there is only one.
func (b *Board) Watch(name string, store dibs.Store) dibs.Store {
	e := newEngine(name, store, b.log, b.pace)
	b.mu.Lock()
	b.engines = append(b.engines, e)
	b.mu.Unlock()
	e.working.Go(e.keep)
	if _, can := store.(dibs.Scrubber); can {
		return scrubbing{e}
	}
	return e
}

// States returns the state of all engines, in the order of Watch. It waits for the first
// probe of each, as long as the context lasts.
func (b *Board) States(ctx context.Context) []State {
	b.mu.Lock()
	engines := slices.Clone(b.engines)
	b.mu.Unlock()
	states := make([]State, len(engines))
	for i, e := range engines {
		select {
		case <-e.looked:
		case <-ctx.Done():
		}
		states[i] = e.state()
	}
	return states
}

// Trouble reports whether any engine fails, and the cause of the first that does.
func (b *Board) Trouble() (cause dibs.Cause, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.engines {
		if s := e.state(); !s.Writes {
			return s.Cause, true
		}
	}
	return "", false
}
