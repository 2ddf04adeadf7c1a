package limit

import (
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

// maxBuckets is how many callers are told apart. Beyond that those who are seen least are
// forgotten, which lets them begin anew: memory is bounded, whoever comes.
const maxBuckets = 100_000

// Buckets limits each of many callers, by a key. It is safe for concurrent use. Nil
// Buckets limit nobody.
type Buckets[K comparable] struct {
	rate    Rate
	refill  rate.Limit
	buckets *otter.Cache[K, *rate.Limiter]
	now     func() time.Time
}

// NewBuckets returns buckets that are full, or nil where there is no limit.
func NewBuckets[K comparable](r Rate) *Buckets[K] {
	if r.Off() {
		return nil
	}
	return &Buckets[K]{
		rate: r, refill: rate.Limit(float64(r.N) / r.Per.Seconds()),
		buckets: otter.Must(&otter.Options[K, *rate.Limiter]{
			MaximumSize: maxBuckets,
			// One that nobody has touched for so long is full again: a new one is the same.
			ExpiryCalculator: otter.ExpiryAccessing[K, *rate.Limiter](max(time.Minute, 2*r.Per)),
		}),
		now: time.Now,
	}
}

// Verdict is what became of a request for some of a limit.
type Verdict struct {
	OK   bool
	Left int // how many more there would be
	// Wait is when there is enough for what was refused; otherwise, when all is there again.
	Wait time.Duration
}

// Take takes n out of the bucket of a key, all or none of them.
func (b *Buckets[K]) Take(key K, n int) Verdict {
	if b == nil || n <= 0 {
		return Verdict{OK: true}
	}
	bucket, ok := b.buckets.GetIfPresent(key)
	if !ok {
		// Of two who are first, both get the same one.
		bucket, _ = b.buckets.SetIfAbsent(key, rate.NewLimiter(b.refill, b.rate.N))
	}
	now := b.now()
	taken := bucket.AllowN(now, n)
	return b.verdict(taken, bucket.TokensAt(now), n)
}

// Empty reports whether there is nothing left for a key, without taking anything.
func (b *Buckets[K]) Empty(key K) (Verdict, bool) { return b.Lacks(key, 1) }

// Lacks reports whether there are fewer than n left for a key, without taking anything.
func (b *Buckets[K]) Lacks(key K, n int) (Verdict, bool) {
	if b == nil || n <= 0 {
		return Verdict{OK: true}, false
	}
	tokens := float64(b.rate.N)
	if bucket, ok := b.buckets.GetIfPresent(key); ok {
		tokens = bucket.TokensAt(b.now())
	}
	lacks := tokens < float64(n)
	return b.verdict(!lacks, tokens, n), lacks
}

func (b *Buckets[K]) verdict(ok bool, tokens float64, n int) Verdict {
	missing := float64(b.rate.N) - tokens
	if !ok {
		missing = float64(n) - tokens
	}
	wait := time.Duration(missing / float64(b.refill) * float64(time.Second))
	return Verdict{OK: ok, Left: max(0, int(tokens)), Wait: max(0, wait)}
}

// Rate is what there is for each key; none for nil Buckets.
func (b *Buckets[K]) Rate() Rate {
	if b == nil {
		return Rate{}
	}
	return b.rate
}
