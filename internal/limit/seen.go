package limit

import (
	"hash/maphash"
	"sync"
)

// Seen remembers, of the things it was told, about the last maxSeen to twice as many. It
// keeps hashes with a seed of its own alone: now and then it may think that it has seen
// what it has not, and nobody can find out what it has seen. It is safe for concurrent
// use. Make one with [NewSeen].
type Seen struct {
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[uint64]struct{}
}

const maxSeen = 50_000

// NewSeen returns a Seen that has seen nothing.
func NewSeen() *Seen {
	return &Seen{seed: maphash.MakeSeed(), young: make(map[uint64]struct{})}
}

// Add remembers a thing that is made of parts.
func (s *Seen) Add(parts ...string) {
	sum := s.sum(parts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.young) >= maxSeen {
		s.young, s.old = make(map[uint64]struct{}), s.young
	}
	s.young[sum] = struct{}{}
}

// Has reports whether the thing was seen.
func (s *Seen) Has(parts ...string) bool {
	sum := s.sum(parts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.young[sum]; ok {
		return true
	}
	_, ok := s.old[sum]
	return ok
}

func (s *Seen) sum(parts []string) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, p := range parts {
		_, _ = h.WriteString(p) // it never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}
