package limit

import "time"

// SetClock lets buckets go by another clock.
func SetClock[K comparable](b *Buckets[K], now func() time.Time) { b.now = now }

// MaxSeen is how many things a Seen remembers for sure.
const MaxSeen = maxSeen

// Callers is how many callers are inside or wait.
func (s *Shares) Callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gates)
}
