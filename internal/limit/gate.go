package limit

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Gate lets so many in at once. Some more may wait before it, in the order in which they
// came, and not for long: who is turned away at once can go elsewhere, and who waits in a
// long queue is mostly gone when it is their turn. It is safe for concurrent use. A nil
// Gate lets everybody in.
type Gate struct {
	slots    *semaphore.Weighted
	room     int64
	patience time.Duration
	waiting  atomic.Int64
}

// NewGate returns a gate that lets most in, and room wait for as long as patience says. It
// is nil where any number may come in.
func NewGate(most, room int, patience time.Duration) *Gate {
	if most == 0 {
		return nil
	}
	return &Gate{slots: semaphore.NewWeighted(int64(most)), room: int64(room), patience: patience}
}

// Entry is what became of somebody at a gate.
type Entry int

// The ways that it can go.
const (
	Entered Entry = iota // it has to leave again
	Full                 // too many wait already
	TooLong              // it has waited for too long, or has given up
)

// Enter lets the caller in, at once or after some waiting, or turns it away.
func (g *Gate) Enter(ctx context.Context) Entry {
	if g == nil || g.slots.TryAcquire(1) {
		return Entered
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.room {
		return Full
	}
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	if g.slots.Acquire(ctx, 1) != nil {
		return TooLong
	}
	return Entered
}

// Leave makes room for somebody else. It is for those who have entered.
func (g *Gate) Leave() {
	if g != nil {
		g.slots.Release(1)
	}
}

// Waiting is how many wait.
func (g *Gate) Waiting() int {
	if g == nil {
		return 0
	}
	return int(g.waiting.Load())
}
