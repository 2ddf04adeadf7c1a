// Package health tracks whether the engines of a server answer and can be written to: by the
// outcomes of the server's calls, and by a small write of its own while there are no commits.
// It logs each change once, and refuses calls at once while an engine does not answer: a
// circuit breaker with a probe.
package health

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// intervals are the times of a [Monitor]. Tests have others.
type intervals struct {
	idle        time.Duration // from the last commit or probe to a probe, so that a server which only reads knows whether it could write
	unreachable time.Duration // between probes of an engine that does not answer
	failing     time.Duration // between probes of one that cannot be written to
	slow        time.Duration // how long a call may take before the engine is probed
	timeout     time.Duration // of a probe
	remind      time.Duration // between log lines of a lasting failure
}

var defaults = intervals{
	idle: 15 * time.Second, unreachable: 100 * time.Millisecond, failing: time.Second,
	slow: 2 * time.Second, timeout: 5 * time.Second, remind: time.Minute,
}

// Monitor tracks the engines of a server. It is safe for concurrent use. A nil Monitor tracks
// none.
type Monitor struct {
	log       *slog.Logger
	intervals intervals

	mu      sync.Mutex
	engines []*engine
}

// NewMonitor returns a Monitor without engines.
func NewMonitor(log *slog.Logger) *Monitor { return &Monitor{log: log, intervals: defaults} }

// State is the state of one engine.
type State struct {
	Store  string     // the engine's name; empty if it is the only one
	Reads  bool       // whether it answers
	Writes bool       // whether it can be written to
	Cause  dibs.Cause // of the failure, if known
	Since  time.Time  // the start of the failure; zero if there is none
}

// Watch returns a store that passes all calls on and tracks their outcomes. It is probed until
// it is closed. The name is for the log, and empty if there is only one engine.
func (m *Monitor) Watch(name string, store dibs.Store) dibs.Store {
	e := newEngine(name, store, m.log, m.intervals)
	m.mu.Lock()
	m.engines = append(m.engines, e)
	m.mu.Unlock()
	e.working.Go(e.run)
	if _, can := store.(dibs.Scrubber); can {
		return scrubbing{e}
	}
	return e
}

// States returns the states of all engines, in the order of Watch. It waits for the first
// probe of each, until the context ends.
func (m *Monitor) States(ctx context.Context) []State {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	engines := slices.Clone(m.engines)
	m.mu.Unlock()
	states := make([]State, len(engines))
	for i, e := range engines {
		select {
		case <-e.known:
		case <-ctx.Done():
		}
		states[i] = e.state()
	}
	return states
}

// Failing reports whether an engine fails, and the cause of the first that does.
func (m *Monitor) Failing() (cause dibs.Cause, failing bool) {
	if m == nil {
		return "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.engines {
		if s := e.state(); !s.Writes {
			return s.Cause, true
		}
	}
	return "", false
}

// reporter logs the state of an engine: each change once, and a lasting failure now and then,
// with the number of calls that failed since the last line.
type reporter struct {
	store  string
	log    *slog.Logger
	remind time.Duration

	logged   map[dibs.Cause]time.Time // the last line of each cause
	begun    bool                     // the start of the present failure is in the log
	failures int                      // failed calls since the last line
}

func newReporter(store string, log *slog.Logger, remind time.Duration) reporter {
	if store != "" {
		log = log.With("store", store)
	}
	return reporter{store: store, log: log, remind: remind, logged: make(map[dibs.Cause]time.Time)}
}

// flapping is how much more often the log reports new failures than a lasting one.
const flapping = 6

// failing logs a failure, unless it was logged a short time ago.
func (r *reporter) failing(f *failure, begins bool) {
	wait := r.remind
	if begins {
		r.begun = false
		wait /= flapping
	}
	now := time.Now()
	if last, ok := r.logged[f.cause]; ok && now.Sub(last) < wait {
		return
	}
	message := "the store cannot be written to"
	if f.unreachable {
		message = "the store does not answer"
	}
	r.log.Error(message, "cause", string(f.cause), "error", f.err, "since", now.Sub(f.since).Round(time.Second), "failed", r.failures)
	r.logged[f.cause], r.begun, r.failures = now, true, 0
}

// damaged logs damage, unless it was logged a short time ago.
func (r *reporter) damaged(err error) {
	now := time.Now()
	if last, ok := r.logged[dibs.CauseDamaged]; ok && now.Sub(last) < r.remind/flapping {
		return
	}
	r.logged[dibs.CauseDamaged] = now
	r.log.Error("the store is damaged: restore a backup", "error", plain(err))
}

// over logs the end of a failure, if its start is in the log.
func (r *reporter) over(f *failure) {
	if r.begun {
		r.log.Info("the store works again", "after", time.Since(f.since).Round(time.Millisecond), "failed", r.failures)
		r.failures = 0
	}
	r.begun = false
}

// reported is an error of a failure that is in the log already.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// Quiet returns a handler that drops log records about failures that a [Monitor] has logged,
// for example of a sweep, a batch or a webhook. At level debug it drops nothing.
func Quiet(next slog.Handler) slog.Handler { return quiet{next} }

type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	known := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		_, known = errors.AsType[reported](err)
		return !known
	})
	if known && !q.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
