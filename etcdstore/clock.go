package etcdstore

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// stamp is what every commit puts into the clock key: its place in the order of all
// commits, and its time.
//
// The order is what the feed is sorted by. A commit is a transaction that only happens if
// the order on record is lower than its own, so orders rise exactly as etcd applies
// transactions. It is about the time in microseconds, but nothing depends on that: a
// server that is late just counts on from the order on record.
//
// The time is what windows are checked against: the greater of the server's own clock and
// the time on record.
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

// clock is what a server knows of the clock on record, and its own.
type clock struct {
	wall func() time.Time

	mu     sync.Mutex
	seen   stamp  // the newest that is known to be on record
	issued uint64 // the highest order that was given to a commit here
}

// learn takes note of a stamp that was on record.
func (c *clock) learn(s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.order > c.seen.order {
		c.seen = s
	}
}

// recorded is the highest order that is known to be on record.
func (c *clock) recorded() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.order
}

// now is the engine's time, as far as it is known here.
func (c *clock) now() dibs.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(dibs.InstantOf(c.wall()), c.seen.time)
}

// ahead is by how much the time on record is ahead of this server's clock.
func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.time.Sub(dibs.InstantOf(c.wall()))
}

// leap is by how much a commit that lost its place tries to be ahead of others, in the
// unit of orders. It makes sure that a server with a late clock gets its turn.
const leap = 2000

// next makes the stamp of a commit that has lost its place so many times.
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
