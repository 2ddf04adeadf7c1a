package dibscache

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/calldibs/dibs"
)

// Config configures a cache.
type Config struct {
	// MaxStale is the maximum age of an answer. It must be positive.
	MaxStale time.Duration
	// MaxBytes is the approximate maximum memory of the entries. Zero means 64 MiB.
	MaxBytes uint64
	// Logger logs when the cache loses the feed, and when it follows it again. Nil means
	// [slog.Default].
	Logger *slog.Logger
}

const defaultMaxBytes = 64 << 20

// Cache answers Resolve and Check from memory. It is safe for concurrent use.
type Cache struct {
	registry *dibs.Registry
	maxStale time.Duration
	logger   *slog.Logger

	entries       *table
	seeds         [3]maphash.Seed
	invalidations invalidations
	start         time.Time
	followedUntil atomic.Int64 // the moment up to which all events are known
	seesPolicies  atomic.Bool  // the feed shows changes of policies

	hits, misses atomic.Uint64

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// question is what was asked, with the value as the caller wrote it.
type question struct {
	namespace, value string
	check            bool // else resolve
}

// entry is an answer of the registry. Of the two only the one that was asked for is set. What
// every lookup reads stands first, to be in one line of the processor's cache.
type entry struct {
	question
	asOf  int64         // the moment at which the answer was right
	pages atomic.Uint64 // how many pages of the feed are known not to change the answer
	used  atomic.Bool   // lately, see [table]
	// lasting says that only an event can change the answer, so that it is right for as long
	// as the cache follows the feed.
	lasting bool

	dependsOn [2]uint32 // the slots of what the answer depends on

	resolution   dibs.Resolution
	availability [1]dibs.Availability
}

// New returns a cache of a registry's answers. It follows the registry's feed until Close.
// The caller keeps the registry open until then, and closes it.
func New(registry *dibs.Registry, cfg Config) (*Cache, error) {
	if cfg.MaxStale <= 0 {
		return nil, errors.New("dibscache: MaxStale must be positive, for example 5 * time.Second; for answers without any delay, use the registry itself")
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Cache{
		registry: registry, maxStale: cfg.MaxStale, logger: cmp.Or(cfg.Logger, slog.Default()),
		entries: newTable(cmp.Or(cfg.MaxBytes, defaultMaxBytes)),
		seeds:   [3]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()},
		start:   time.Now(), stop: stop,
	}
	c.followedUntil.Store(longAgo)
	c.stopped.Go(func() { c.follow(ctx) })
	return c, nil
}

// Close stops following the feed. The cache must not be used afterwards.
func (c *Cache) Close() error {
	c.stop()
	c.stopped.Wait()
	return nil
}

// Stats are figures of a cache.
type Stats struct {
	Hits, Misses uint64 // answers from memory, and from the registry
	Bytes        uint64 // the approximate memory of the entries
	// Lag is how long ago the cache had read the feed to its end. While it exceeds MaxStale,
	// every question goes to the registry.
	Lag time.Duration
}

// Stats returns the present figures.
func (c *Cache) Stats() Stats {
	now := c.now()
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), Bytes: uint64(c.entries.bytes.Load()),
		Lag: time.Duration(now - max(c.followedUntil.Load(), 0)), // before the first read: since New
	}
}

// lookup returns a valid entry and its maximum age, and counts it.
func (c *Cache) lookup(q question) (*entry, time.Duration, bool) {
	if e := c.entries.get(c.hash(q), q); e != nil {
		if age, ok := c.age(e); ok {
			c.hits.Add(1)
			return e, age, true
		}
	}
	return nil, 0, false
}

// hash returns the hash of a question.
func (c *Cache) hash(q question) uint64 {
	seed := c.seeds[0]
	if q.check {
		seed = c.seeds[1]
	}
	return maphash.String(seed, q.value) ^ maphash.String(c.seeds[2], q.namespace)
}

// age returns the maximum age of an entry; ok is false if the entry may have changed or is
// too old.
func (c *Cache) age(e *entry) (age time.Duration, ok bool) {
	since := e.asOf
	if e.lasting {
		// Load this before the invalidations, which then include all events up to it.
		since = max(since, c.followedUntil.Load())
	}
	age = time.Duration(c.now() - since)
	return age, age <= c.maxStale && !c.invalidations.affect(e)
}

// newEntry returns an entry for an answer that the registry is about to give. It clones the
// texts of the question, which may be parts of larger ones.
func (c *Cache) newEntry(q question) *entry {
	q.namespace, q.value = unique.Make(q.namespace).Value(), strings.Clone(q.value)
	e := &entry{question: q, asOf: c.now()}
	e.pages.Store(c.invalidations.pages.Load())
	return e
}

// entrySize is about how many bytes an entry takes without its texts: the entry itself, its share
// of the table, and what the allocator rounds up.
const entrySize = 450

// size returns the approximate size of an entry in bytes.
func (e *entry) size() int64 {
	r, v := &e.resolution, &e.availability[0]
	size := entrySize + len(e.value) + len(r.Canonical) + len(r.Entity.Type) + len(r.Entity.ID) + len(v.Canonical) + len(v.Detail) + len(v.Value)
	if r.To != nil {
		size += entrySize + len(r.To.Value) + len(r.To.Canonical)
		for key, value := range r.To.Meta {
			size += len(key) + len(value)
		}
	}
	return int64(size)
}

// now returns the present moment, in nanoseconds since New. It is monotonic.
func (c *Cache) now() int64 { return int64(time.Since(c.start)) }

// longAgo is a moment that is always too old.
const longAgo = -1 << 62

// Resolve returns where a name leads, or led at most MaxStale ago: [dibs.Resolution.Age] is
// the maximum age. Callers share the result, and must not change what it points to.
func (c *Cache) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	q := question{namespace: namespace, value: value}
	if e, age, ok := c.lookup(q); ok {
		r := e.resolution
		r.Age = age
		return r, nil
	}
	c.misses.Add(1)
	e := c.newEntry(q)
	r, err := c.registry.Resolve(ctx, e.namespace, e.value)
	if err != nil {
		return r, err
	}
	e.resolution = r
	e.asOf -= int64(r.Age) // the server has a cache, too
	// A name that leads nowhere may later lead somewhere by another spelling or under another
	// key, and dates pass without an event: so such entries are not lasting.
	leads := r.Outcome == dibs.ResolveActive || r.Outcome == dibs.ResolveMoved
	e.lasting = leads && r.Until.IsZero() && c.seesPolicies.Load()
	e.dependsOn = [2]uint32{slotOf(dibs.NameID(e.namespace, r.Canonical)), slotOf(dibs.EntityID(dibs.ScopeOf(e.namespace), r.Entity))}
	c.entries.put(c.hash(q), e)
	return r, nil
}

// Check reports whether values can be reserved, or could be at most MaxStale ago. A name
// that is available here may be taken: only Reserve decides. Requests with an entity or with
// suggestions go to the registry. Callers share the results, and must not change them.
func (c *Cache) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	if !request.Entity.IsZero() || request.Suggest > 0 || len(request.Values) == 0 {
		return c.registry.Check(ctx, clone(request))
	}
	if len(request.Values) == 1 {
		if e, _, ok := c.lookup(question{request.Namespace, request.Values[0], true}); ok {
			return e.availability[:], nil
		}
	}
	return c.checkAll(ctx, clone(request))
}

// clone returns a request that shares no memory with the original. So the compiler knows that
// Check does not keep the original, and callers need not allocate it.
func clone(r dibs.CheckRequest) dibs.CheckRequest {
	cloned := dibs.CheckRequest{
		Namespace: strings.Clone(r.Namespace), Suggest: r.Suggest,
		Entity: dibs.Entity{Type: strings.Clone(r.Entity.Type), ID: strings.Clone(r.Entity.ID)},
	}
	for _, value := range r.Values {
		cloned.Values = append(cloned.Values, strings.Clone(value))
	}
	for _, part := range r.Parts {
		cloned.Parts = append(cloned.Parts, strings.Clone(part))
	}
	return cloned
}

func (c *Cache) checkAll(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	answers := make([]dibs.Availability, len(request.Values))
	var missing []string
	var entries []*entry // of the missing values
	var indexes []int
	for i, value := range request.Values {
		q := question{request.Namespace, value, true}
		if e, _, ok := c.lookup(q); ok {
			answers[i] = e.availability[0]
		} else {
			missing, entries, indexes = append(missing, value), append(entries, c.newEntry(q)), append(indexes, i)
		}
	}
	if len(missing) == 0 {
		return answers, nil
	}
	c.misses.Add(uint64(len(missing)))
	request.Values = missing
	found, err := c.registry.Check(ctx, request)
	if err != nil {
		return nil, err
	}
	for i, availability := range found {
		answers[indexes[i]] = availability
		e := entries[i]
		e.availability[0] = availability
		// Look-alikes and dates change availability without an event of the name itself: so
		// no such entry is lasting.
		name := slotOf(dibs.NameID(request.Namespace, availability.Canonical))
		e.dependsOn = [2]uint32{name, name}
		c.entries.put(c.hash(e.question), e)
	}
	return answers, nil
}
