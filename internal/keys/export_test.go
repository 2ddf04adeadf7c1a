package keys

import "time"

// MaxKept is how many keys a Ring remembers.
const MaxKept = maxKept

// SetClock replaces the clock by which a Ring forgets. It comes before anything else.
func (r *Ring) SetClock(now func() time.Time) { r.cache.clock = now }

// Kept returns how many keys and misses a Ring remembers.
func (r *Ring) Kept() (keys, misses int) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return len(r.cache.keys), len(r.cache.misses)
}
