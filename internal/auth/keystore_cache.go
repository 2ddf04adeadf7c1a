package auth

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

const (
	keepKey   = 5 * time.Second // how long a key is cached
	keepMiss  = time.Second     // how long a secret without a key is cached
	keepAny   = time.Second
	maxCached = 1000 // keys, and as many misses
)

// keyCache caches keys by the digests of their secrets. Keys and misses are in separate maps,
// so that guesses do not evict keys.
type keyCache struct {
	now func() time.Time

	mu     sync.Mutex
	keys   map[digest]cachedKey
	misses map[digest]cachedKey
	// some is whether there is a key at all, valid until someUntil.
	some      bool
	someUntil time.Time
	// changed is when this KeyStore last created or revoked a key. Answers to earlier
	// reads are not cached.
	changed time.Time
}

// cachedKey is an answer, valid until a time.
type cachedKey struct {
	key   *Key // nil means a miss
	until time.Time
}

func newKeyCache() *keyCache {
	return &keyCache{now: time.Now, keys: make(map[digest]cachedKey), misses: make(map[digest]cachedKey)}
}

// get returns the cached answer for a secret. A nil key is a miss.
func (c *keyCache) get(sum digest) (key *Key, cached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, answers := range []map[digest]cachedKey{c.keys, c.misses} {
		if a, ok := answers[sum]; ok {
			if now.Before(a.until) {
				return a.key, true
			}
			delete(answers, sum)
		}
	}
	return nil, false
}

// put caches the answer to a read that began at asked, at which the engine's clock showed
// now. A key is not cached beyond its expiry.
func (c *keyCache) put(sum digest, key *Key, now dibs.Instant, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !asked.After(c.changed) {
		return
	}
	answers, keep := c.misses, keepMiss
	if key != nil {
		answers, keep = c.keys, keepKey
		if !key.ExpiresAt.IsZero() {
			keep = min(keep, dibs.InstantOf(key.ExpiresAt).Sub(now))
		}
	}
	for other := range answers { // if there is no room, evict an arbitrary answer
		if len(answers) < maxCached {
			break
		}
		delete(answers, other)
	}
	answers[sum] = cachedKey{key, asked.Add(keep)}
}

func (c *keyCache) getAny() (some, cached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.some, c.now().Before(c.someUntil)
}

func (c *keyCache) putAny(some bool, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked.After(c.changed) {
		c.some, c.someUntil = some, asked.Add(keepAny)
	}
}

// invalidate removes a key, and the answer of Any.
func (c *keyCache) invalidate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sum, a := range c.keys {
		if a.key.Name == name {
			delete(c.keys, sum)
		}
	}
	c.someUntil, c.changed = time.Time{}, c.now()
}
