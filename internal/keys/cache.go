package keys

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

const (
	keepKey  = 5 * time.Second // how long a key is believed to be good
	keepMiss = time.Second     // how long a secret is believed to be none
	keepAny  = time.Second
	maxKept  = 1000 // of keys, and as many misses
)

// cache remembers answers for a short time. Secrets are not in it, only their digests.
// Keys and misses have room of their own: whoever guesses pushes out no key.
type cache struct {
	clock func() time.Time

	mu     sync.Mutex
	keys   map[digest]kept
	misses map[digest]kept
	// some is whether there is a key at all, believed until someUntil.
	some      bool
	someUntil time.Time
	// changed is when this Ring last made or revoked a key. What was asked before must
	// not be believed.
	changed time.Time
}

// kept is an answer, and until when it is believed.
type kept struct {
	key   *Key // nil: there is none
	until time.Time
}

func newCache() *cache {
	return &cache{clock: time.Now, keys: make(map[digest]kept), misses: make(map[digest]kept)}
}

func (c *cache) now() time.Time { return c.clock() }

// get returns the answer for a secret, if there is one. A nil key is a miss.
func (c *cache) get(sum digest) (key *Key, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, answers := range []map[digest]kept{c.keys, c.misses} {
		if a, ok := answers[sum]; ok {
			if c.clock().Before(a.until) {
				return a.key, true
			}
			delete(answers, sum)
		}
	}
	return nil, false
}

// put remembers an answer that was asked for at since, when it was now by the engine's
// clock. A key is not kept beyond its end.
func (c *cache) put(sum digest, key *Key, now dibs.Instant, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !since.After(c.changed) {
		return
	}
	if key == nil {
		makeRoom(c.misses, since)
		c.misses[sum] = kept{until: since.Add(keepMiss)}
		return
	}
	keep := keepKey
	if !key.ExpiresAt.IsZero() {
		keep = min(keep, dibs.InstantOf(key.ExpiresAt).Sub(now))
	}
	makeRoom(c.keys, since)
	c.keys[sum] = kept{key: key, until: since.Add(keep)}
}

// makeRoom drops what is too old if there is no room, and if there is still none, one
// answer or another.
func makeRoom(answers map[digest]kept, now time.Time) {
	if len(answers) < maxKept {
		return
	}
	for sum, a := range answers {
		if !now.Before(a.until) {
			delete(answers, sum)
		}
	}
	for sum := range answers {
		if len(answers) < maxKept {
			return
		}
		delete(answers, sum)
	}
}

func (c *cache) getAny() (some, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.some, c.clock().Before(c.someUntil)
}

func (c *cache) putAny(some bool, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since.After(c.changed) {
		c.some, c.someUntil = some, since.Add(keepAny)
	}
}

// forget drops what is known of a key, and whether there is any.
func (c *cache) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sum, a := range c.keys {
		if a.key.Name == name {
			delete(c.keys, sum)
		}
	}
	c.someUntil, c.changed = time.Time{}, c.clock()
}
