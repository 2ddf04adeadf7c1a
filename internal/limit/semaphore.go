package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Semaphore admits a number of callers at once. A bounded number of others waits, first come
// first served, and only for a short time: a caller that is refused at once can go elsewhere,
// while most callers in a long queue are gone before their turn. It is safe for concurrent use.
// A nil Semaphore admits all callers.
type Semaphore struct {
	slots   *semaphore.Weighted
	queue   int64
	maxWait time.Duration
	waiting atomic.Int64
}

// NewSemaphore returns a semaphore that admits slots callers at once, and lets queue others
// wait up to maxWait. For zero slots it returns nil, which is no limit.
func NewSemaphore(slots, queue int, maxWait time.Duration) *Semaphore {
	if slots == 0 {
		return nil
	}
	return &Semaphore{slots: semaphore.NewWeighted(int64(slots)), queue: int64(queue), maxWait: maxWait}
}

// Admission is the result of acquiring a semaphore.
type Admission int

// The results.
const (
	Admitted  Admission = iota // the caller must call Release
	QueueFull                  // too many callers wait already
	TimedOut                   // the caller waited for too long, or its context ended
)

// Acquire admits the caller, at once or after a wait, or refuses it.
func (s *Semaphore) Acquire(ctx context.Context) Admission {
	if s == nil || s.slots.TryAcquire(1) {
		return Admitted
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.queue {
		return QueueFull
	}
	ctx, cancel := context.WithTimeout(ctx, s.maxWait)
	defer cancel()
	if s.slots.Acquire(ctx, 1) != nil {
		return TimedOut
	}
	return Admitted
}

// Release frees the slot of an admitted caller.
func (s *Semaphore) Release() {
	if s != nil {
		s.slots.Release(1)
	}
}

// Waiting returns the number of waiting callers.
func (s *Semaphore) Waiting() int {
	if s == nil {
		return 0
	}
	return int(s.waiting.Load())
}

// Shares gives each caller a [Semaphore] of its own, so that one caller cannot take all the
// slots that callers share. It is safe for concurrent use. Nil Shares admit all callers.
type Shares struct {
	slots, queue int
	maxWait      time.Duration

	mu      sync.Mutex
	callers map[string]*share // of callers that are admitted or wait
}

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

// Waiting returns the number of waiting requests of a caller.
func (s *Shares) Waiting(caller string) int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.callers[caller]; own != nil {
		return own.Waiting()
	}
	return 0
}

// leave drops a share without users: requests in flight bound the memory.
func (s *Shares) leave(caller string, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.callers, caller)
	}
}
