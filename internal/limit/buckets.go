package limit

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/calldibs/dibs/internal/generation"
)

// maxBuckets bounds the memory. Beyond it, the least used buckets are dropped, and their callers
// start again with a full one.
const maxBuckets = 100_000

// Buckets has a token bucket for each key. It is safe for concurrent use. Nil means no limit.
type Buckets[K comparable] struct {
	rate    Rate
	refill  rate.Limit
	buckets *otter.Cache[K, *rate.Limiter]
	now     func() time.Time
}

// NewBuckets returns full buckets, or nil if the rate is off.
func NewBuckets[K comparable](r Rate) *Buckets[K] {
	if r.Off() {
		return nil
	}
	return &Buckets[K]{
		rate: r, refill: rate.Limit(float64(r.N) / r.Per.Seconds()),
		buckets: otter.Must(&otter.Options[K, *rate.Limiter]{
			MaximumSize: maxBuckets,
			// A bucket that was unused for so long is full, like a new one.
			ExpiryCalculator: otter.ExpiryAccessing[K, *rate.Limiter](max(time.Minute, 2*r.Per)),
		}),
		now: time.Now,
	}
}

// Decision says whether a bucket has enough tokens.
type Decision struct {
	OK   bool
	Left int // the tokens that are left
	// Wait is the time until the bucket has enough, or if OK, until it is full.
	Wait time.Duration
}

// Take takes n tokens from the bucket of a key, all or none.
func (b *Buckets[K]) Take(key K, n int) Decision {
	if b == nil || n <= 0 {
		return Decision{OK: true}
	}
	bucket, ok := b.buckets.GetIfPresent(key)
	if !ok {
		// Concurrent callers get the same bucket.
		bucket, _ = b.buckets.SetIfAbsent(key, rate.NewLimiter(b.refill, b.rate.N))
	}
	now := b.now()
	taken := bucket.AllowN(now, n)
	return b.decision(taken, bucket.TokensAt(now), n)
}

// Peek reports whether Take would take n tokens. It takes none.
func (b *Buckets[K]) Peek(key K, n int) Decision {
	if b == nil || n <= 0 {
		return Decision{OK: true}
	}
	tokens := float64(b.rate.N)
	if bucket, ok := b.buckets.GetIfPresent(key); ok {
		tokens = bucket.TokensAt(b.now())
	}
	return b.decision(tokens >= float64(n), tokens, n)
}

func (b *Buckets[K]) decision(ok bool, tokens float64, n int) Decision {
	missing := float64(b.rate.N) - tokens
	if !ok {
		missing = float64(n) - tokens
	}
	wait := time.Duration(missing / float64(b.refill) * float64(time.Second))
	return Decision{OK: ok, Left: max(0, int(tokens)), Wait: max(0, wait)}
}

// Rate returns the rate of each key; off for nil Buckets.
func (b *Buckets[K]) Rate() Rate {
	if b == nil {
		return Rate{}
	}
	return b.rate
}

// maxSeen is how many of the latest things a [Seen] remembers at least.
const maxSeen = 50_000

// Seen remembers the latest things that were added, as hashes with a secret seed: rarely it
// reports a thing that was not added, and its memory does not reveal any thing. It is safe for
// concurrent use. Make one with [NewSeen].
type Seen struct {
	seed maphash.Seed

	mu     sync.Mutex
	hashes generation.Map[uint64, struct{}]
}

// NewSeen returns an empty Seen.
func NewSeen() *Seen {
	return &Seen{seed: maphash.MakeSeed(), hashes: generation.Map[uint64, struct{}]{Size: maxSeen}}
}

// Add adds a thing that consists of parts.
func (s *Seen) Add(parts ...string) {
	sum := s.sum(parts)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hashes.Put(sum, struct{}{})
}

// Has reports whether a thing was added lately.
func (s *Seen) Has(parts ...string) bool {
	sum := s.sum(parts)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.hashes.Get(sum)
	return ok
}

func (s *Seen) sum(parts []string) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, p := range parts {
		_, _ = h.WriteString(p) // never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}
