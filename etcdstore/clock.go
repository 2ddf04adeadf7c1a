package etcdstore

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// stamp is what every commit writes into the clock key: its order among all commits, and its
// time.
//
// The feed is sorted by the order. A commit is a transaction with the condition that the
// stored order is lower than its own, so orders rise exactly as etcd applies transactions. An
// order is about the time in microseconds, but nothing depends on that: a server with a slow
// clock continues from the stored order.
//
// Windows are checked against the time: the greater of the server's own clock and the stored
// time.
type stamp struct {
	order uint64
	time  dibs.Instant
}

const stampSize = 16

func (s stamp) encode() string {
	return string(number(s.order)) + string(number(uint64(s.time)))
}

func decodeStamp(value []byte) (stamp, bool) {
	if len(value) != stampSize {
		return stamp{}, false
	}
	return stamp{binary.BigEndian.Uint64(value), dibs.Instant(binary.BigEndian.Uint64(value[8:]))}, true
}

// clock is the newest stored stamp that a server knows, and its own clock.
type clock struct {
	wall func() time.Time

	mu     sync.Mutex
	seen   stamp  // the newest stored one
	issued uint64 // the highest order that was given to a commit here
}

// learn notes a stored stamp.
func (c *clock) learn(s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.order > c.seen.order {
		c.seen = s
	}
}

// lastOrder returns the highest stored order that is known.
func (c *clock) lastOrder() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.order
}

// now returns the engine's time, as far as it is known here.
func (c *clock) now() dibs.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(dibs.InstantOf(c.wall()), c.seen.time)
}

// ahead returns how far the stored time is ahead of this server's clock.
func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.time.Sub(dibs.InstantOf(c.wall()))
}

// leap raises the order of a commit that lost a race. Without it a server with a slow clock would
// lose every race.
const leap = 2000

// next returns the stamp of a commit that has lost some races.
func (c *clock) next(lost int) stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall := c.wall()
	order := max(uint64(wall.UnixMicro()), c.seen.order+1, c.issued+1)
	if lost > 0 {
		order += leap << min(2*lost, 16)
	}
	c.issued = order
	return stamp{order, max(dibs.InstantOf(wall), c.seen.time)}
}
