package storetest

import (
	"sync"
	"time"
)

// Clock is a manual clock: it changes only when it is set. It is safe for
// concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	follow []func(time.Time)
	stalls *stall // the next call of Now stalls here
}

// stall is a point where a call stops until it is resumed.
type stall struct{ reached, resumed chan struct{} }

func newStall() *stall { return &stall{make(chan struct{}), make(chan struct{})} }

// wait reports that the call is here, and waits until it is resumed.
func (s *stall) wait() {
	close(s.reached)
	<-s.resumed
}

// NewClock returns a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	now, stalls := c.now, c.stalls
	c.stalls = nil
	c.mu.Unlock()
	if stalls != nil {
		stalls.wait()
	}
	return now
}

// stall makes the next call of Now stop after it has read the time: a Commit is then
// late, although it read the clock in time.
func (c *Clock) stall() (stalled <-chan struct{}, resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := newStall()
	c.stalls = s
	return s.reached, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stalls = nil
		close(s.resumed)
	}
}

// Follow calls fn with the current time, and with every time the clock is set to,
// before Now returns it. It is for engines whose clock is not in this process.
func (c *Clock) Follow(fn func(now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.now)
	c.follow = append(c.follow, fn)
}

// Set sets the clock to now.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(now)
}

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(c.now.Add(d))
}

func (c *Clock) move(now time.Time) {
	for _, fn := range c.follow {
		fn(now)
	}
	c.now = now
}
