package limit

import "time"

// SetClock sets the clock of buckets.
func SetClock[K comparable](b *Buckets[K], now func() time.Time) { b.now = now }

// MaxSeen is how many things a Seen remembers at least.
const MaxSeen = maxSeen

// Callers returns the number of callers that are admitted or wait.
func (s *Shares) Callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.callers)
}
