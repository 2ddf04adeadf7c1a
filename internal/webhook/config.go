package webhook

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/calldibs/dibs"
)

// Config configures webhooks. Registry and Store are required; the zero value of every other
// field means its default.
type Config struct {
	// Registry provides the feed.
	Registry *dibs.Registry
	// Store is the engine under the registry. It stores the webhooks.
	Store dibs.Store

	// Timeout is how long a receiver may take to answer. Zero means 10 s.
	Timeout time.Duration
	// Pauses are the waits after the first failure, the second and so on. The last one
	// repeats. Empty means 5 s, 30 s, 2 min, 10 min, 30 min, 1 h.
	Pauses []time.Duration
	// GiveUpAfter is how long an event is retried before it becomes a dead letter. Zero
	// means three days.
	GiveUpAfter time.Duration
	// Concurrency is how many events a webhook sends at once. Zero means 4.
	Concurrency int
	// AllowPrefixes are the addresses that may be sent to although they are not public.
	AllowPrefixes []netip.Prefix
	// Source is the source of all CloudEvents. Empty means "urn:dibs".
	Source string

	// Logger logs failing webhooks. Nil means no log.
	Logger *slog.Logger
	// Observer observes every delivery. Nil means none.
	Observer Observer

	limits limits
}

// limits are the values that tests make smaller.
type limits struct {
	queued      int           // events that a hook keeps in memory
	deadLetters int           // dead letters of a hook
	lease       time.Duration // how long the lease of a silent process lasts
	poll        time.Duration // how often hooks are read, to find changes
	save        time.Duration // how often the state of deliveries is saved
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if len(c.Pauses) == 0 {
		c.Pauses = DefaultPauses()
	}
	c.GiveUpAfter = cmp.Or(c.GiveUpAfter, 3*24*time.Hour)
	c.Concurrency = cmp.Or(c.Concurrency, 4)
	c.Source = cmp.Or(c.Source, DefaultSource)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	c.limits.queued = cmp.Or(c.limits.queued, 1000)
	c.limits.deadLetters = cmp.Or(c.limits.deadLetters, 10_000)
	c.limits.lease = cmp.Or(c.limits.lease, c.Timeout+10*time.Second)
	c.limits.poll = cmp.Or(c.limits.poll, 2*time.Second)
	c.limits.save = cmp.Or(c.limits.save, time.Second)
	return c
}

// DefaultPauses are the waits after each failure, by default.
func DefaultPauses() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}
}

// pauseAfter returns how long to wait after a number of failures. A random fifth more or less
// than in the list spreads the retries of deliveries that failed together.
func pauseAfter(pauses []time.Duration, failures int) time.Duration {
	pause := pauses[min(max(failures, 1), len(pauses))-1]
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

// Observer observes a [Dispatcher] and resending. Its methods are called from several
// goroutines.
type Observer interface {
	// Sent is called after each attempt.
	Sent(hook string, a Attempt)
	// GaveUp is called for each dead letter.
	GaveUp(hook string)
	// Backlog reports how many events wait in memory, and when the oldest event happened
	// that is not delivered; the zero time means that none waits.
	Backlog(hook string, waiting int, oldest time.Time)
	// Stopped is called when this process no longer delivers for a hook.
	Stopped(hook string)
	// Removed is called for each hook that no longer exists.
	Removed(hook string)
}

// noObserver does nothing.
type noObserver struct{}

var _ Observer = noObserver{}

func (noObserver) Sent(string, Attempt)           {}
func (noObserver) GaveUp(string)                  {}
func (noObserver) Backlog(string, int, time.Time) {}
func (noObserver) Stopped(string)                 {}
func (noObserver) Removed(string)                 {}
