package limit

import (
	"hash/maphash"
	"sync"

	"github.com/calldibs/dibs/internal/generation"
)

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
