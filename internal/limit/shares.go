package limit

import (
	"context"
	"sync"
	"time"
)

// Shares gives each caller a [Semaphore] of its own, so that one caller cannot take all the
// slots that callers share. It is safe for concurrent use. Nil Shares admit all callers.
type Shares struct {
	slots, queue int
	maxWait      time.Duration

	mu      sync.Mutex
	callers map[string]*share // of callers that are admitted or wait
}

// share is the semaphore of one caller.
type share struct {
	*Semaphore
	users int // requests that are admitted or wait
}

// NewShares returns shares with the limits of [NewSemaphore] for each caller. For zero slots it
// returns nil, which is no limit.
func NewShares(slots, queue int, maxWait time.Duration) *Shares {
	if slots == 0 {
		return nil
	}
	return &Shares{slots: slots, queue: queue, maxWait: maxWait, callers: make(map[string]*share)}
}

// Acquire admits a caller, at once or after a wait, or refuses it. An admitted caller must call
// release.
func (s *Shares) Acquire(ctx context.Context, caller string) (release func(), a Admission) {
	if s == nil {
		return func() {}, Admitted
	}
	s.mu.Lock()
	own := s.callers[caller]
	if own == nil {
		own = &share{Semaphore: NewSemaphore(s.slots, s.queue, s.maxWait)}
		s.callers[caller] = own
	}
	own.users++
	s.mu.Unlock()
	if a = own.Acquire(ctx); a != Admitted {
		s.leave(caller, own)
		return nil, a
	}
	return func() {
		own.Release()
		s.leave(caller, own)
	}, Admitted
}

// leave drops a share without users: requests in flight bound the memory.
func (s *Shares) leave(caller string, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.callers, caller)
	}
}
