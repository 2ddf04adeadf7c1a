package webhook

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"

	"github.com/calldibs/dibs"
)

// Config is what webhooks work with. Registry and Store are needed; of all else the zero
// value means the default.
type Config struct {
	// Registry has the feed.
	Registry *dibs.Registry
	// Store is the engine under it, in which webhooks are kept.
	Store dibs.Store

	// Timeout is how long a receiver may take to answer. Zero means 10 s.
	Timeout time.Duration
	// Pauses are how long to wait after the first failure, the second and so on. The
	// last one repeats. None means 5 s, 30 s, 2 min, 10 min, 30 min, 1 h.
	Pauses []time.Duration
	// GiveUpAfter is how long an event is tried before it becomes a dead letter. Zero
	// means three days.
	GiveUpAfter time.Duration
	// Concurrency is how many events a webhook sends at once. Zero means 4.
	Concurrency int
	// AllowPrefixes are addresses that are not public and may be sent to.
	AllowPrefixes []netip.Prefix
	// Source is that of all CloudEvents. Empty means "urn:dibs".
	Source string

	// Version is the program's own, for the User-Agent.
	Version string
	// Logger is told of webhooks that fail. Nil means nobody is told.
	Logger *slog.Logger
	// Observer is told of every delivery. Nil means nobody is told.
	Observer Observer

	limits limits
}

// limits are what tests make smaller.
type limits struct {
	waiting int           // events that a hook keeps in memory
	letters int           // dead letters of a hook
	lease   time.Duration // how long a process that is not heard of keeps its lease
	poll    time.Duration // how often to look for changes to hooks
	save    time.Duration // how often to save what was delivered
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if len(c.Pauses) == 0 {
		c.Pauses = DefaultPauses()
	}
	c.GiveUpAfter = cmp.Or(c.GiveUpAfter, 3*24*time.Hour)
	c.Concurrency = cmp.Or(c.Concurrency, 4)
	c.Source = cmp.Or(c.Source, DefaultSource)
	c.Version = cmp.Or(c.Version, "development")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	c.limits.waiting = cmp.Or(c.limits.waiting, 1000)
	c.limits.letters = cmp.Or(c.limits.letters, 10_000)
	c.limits.lease = cmp.Or(c.limits.lease, c.Timeout+10*time.Second)
	c.limits.poll = cmp.Or(c.limits.poll, 2*time.Second)
	c.limits.save = cmp.Or(c.limits.save, time.Second)
	return c
}
