package dibscache

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/calldibs/dibs"
)

// Config is what a cache may do.
type Config struct {
	// MaxStale is how old an answer may be. It must be positive.
	MaxStale time.Duration
	// MaxBytes is how much memory the answers may take, about. Zero means 64 MiB.
	MaxBytes uint64
	// Logger is told when the feed cannot be read, and when it can again. Nil means
	// [slog.Default].
	Logger *slog.Logger
}

const defaultMaxBytes = 64 << 20

// Cache answers Resolve and Check from memory. It is safe for concurrent use.
type Cache struct {
	registry *dibs.Registry
	maxStale time.Duration
	logger   *slog.Logger

	answers  *otter.Cache[question, *answer]
	marks    marks
	clock    clock
	followed atomic.Int64 // the moment up to which all events are known
	knows    atomic.Bool  // a change of policies would be noticed

	hits, misses atomic.Uint64

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// question is what was asked, as it was written.
type question struct {
	kind             kind
	namespace, value string
}

type kind uint8

const (
	resolves kind = iota
	checks
)

// answer is what the registry said. Only the part that the question's kind says is set.
type answer struct {
	resolution   dibs.Resolution
	availability dibs.Availability

	asked int64 // the moment as of which it was so
	// lasting says that nothing but an event can change it: it is good for as long as the
	// feed is followed.
	lasting bool
	seen    uint64    // how many pages of the feed had been noted before it was asked for
	rests   [2]uint32 // the marks of what it rests on
}

// New returns a cache of a registry's answers, which follows its feed until it is closed.
// The registry stays the caller's, and must stay open until then.
func New(registry *dibs.Registry, cfg Config) (*Cache, error) {
	if cfg.MaxStale <= 0 {
		return nil, errors.New("dibscache: MaxStale must say how old an answer may be, for example 5 * time.Second; without a cache, ask the registry itself")
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	answers, err := otter.New(&otter.Options[question, *answer]{MaximumWeight: cfg.MaxBytes, Weigher: weigh})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Cache{
		registry: registry, maxStale: cfg.MaxStale, logger: cfg.Logger, answers: answers,
		clock: clock{start: time.Now()}, stop: stop,
	}
	c.followed.Store(longAgo)
	c.stopped.Go(func() { c.follow(ctx) })
	return c, nil
}

// Close ends the following of the feed. The cache must not be used any more.
func (c *Cache) Close() error {
	c.stop()
	c.stopped.Wait()
	c.answers.StopAllGoroutines()
	return nil
}

// Stats says how the cache fares.
type Stats struct {
	Hits, Misses uint64 // answers from memory, and those that had to be asked for
	Bytes        uint64 // how much memory the answers take, about
	// Lag is how long ago the feed was known to its end. Once it is more than MaxStale,
	// every question goes to the registry.
	Lag time.Duration
}

// Stats returns how the cache fares.
func (c *Cache) Stats() Stats {
	now := c.clock.now()
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), Bytes: c.answers.WeightedSize(),
		Lag: time.Duration(now - max(c.followed.Load(), 0)), // never known: since the beginning
	}
}

// find returns an answer that is not too old, and how old it may be.
func (c *Cache) find(q question) (*answer, time.Duration, bool) {
	if a, ok := c.answers.GetIfPresent(q); ok {
		if age, ok := c.age(a); ok {
			c.hits.Add(1)
			return a, age, true
		}
	}
	c.misses.Add(1)
	return nil, 0, false
}

// age says how old an answer may be; ok is false for one that may have changed, or is
// older than allowed.
func (c *Cache) age(a *answer) (age time.Duration, ok bool) {
	since := a.asked
	if a.lasting {
		// Before the marks: what is noted up to that moment then shows in them.
		since = max(since, c.followed.Load())
	}
	age = time.Duration(c.clock.now() - since)
	return age, age <= c.maxStale && !c.marks.changed(a)
}

// begin is an answer before it is asked for.
func (c *Cache) begin() *answer { return &answer{asked: c.clock.now(), seen: c.marks.pages.Load()} }

// keep remembers an answer. What the strings were cut from is not kept alive.
func (c *Cache) keep(q question, a *answer) {
	q.namespace, q.value = strings.Clone(q.namespace), strings.Clone(q.value)
	c.answers.Set(q, a)
}

// weigh is about how many bytes an answer takes.
func weigh(q question, a *answer) uint32 {
	const fixed = 600 // the answer, its place in the cache, and what its texts take besides
	size := fixed + len(q.namespace) + len(q.value)
	r, v := &a.resolution, &a.availability
	size += len(r.Canonical) + len(r.Entity.Type) + len(r.Entity.ID) + len(v.Canonical) + len(v.Detail) + len(v.Value)
	if r.To != nil {
		size += fixed + len(r.To.Value) + len(r.To.Canonical)
		for key, value := range r.To.Meta {
			size += len(key) + len(value)
		}
	}
	return uint32(size)
}

// clock tells moments, in nanoseconds since it was started. No setting of the machine's
// clock moves it.
type clock struct{ start time.Time }

func (c clock) now() int64 { return int64(time.Since(c.start)) }

// longAgo is a moment that is always too old.
const longAgo = -1 << 62
