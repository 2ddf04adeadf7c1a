package etcdstore

import "sync"

// slots numbers concurrent commits, so that each has a marker of its own.
type slots struct {
	mu   sync.Mutex
	busy []bool
}

// take returns the lowest free slot.
func (s *slots) take() uint16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, busy := range s.busy {
		if !busy {
			s.busy[i] = true
			return uint16(i)
		}
	}
	s.busy = append(s.busy, true)
	return uint16(len(s.busy) - 1)
}

func (s *slots) release(slot uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[slot] = false
}

// used reports whether any slot was ever taken.
func (s *slots) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy) > 0
}
