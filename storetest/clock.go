package storetest

import (
	"sync"
	"time"
)

// Clock is a manual clock: it stands still until it is moved. It is safe for
// concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	follow []func(time.Time)
	stalls *stall // of the next call of Now
}

// stall is something that takes its time.
type stall struct{ reached, resumed chan struct{} }

func newStall() *stall { return &stall{make(chan struct{}), make(chan struct{})} }

// wait says that it has come here, and waits to be let go on.
func (s *stall) wait() {
	close(s.reached)
	<-s.resumed
}

// NewClock returns a clock that stands at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time the clock stands at.
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

// stall makes the next call of Now take its time, after it has looked: a Commit is late
// then, although it was in time when it looked at the clock.
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

// Follow calls fn with the time now, and with every time the clock is moved to,
// before anybody can see it. It is for engines whose clock is not in this process.
func (c *Clock) Follow(fn func(now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.now)
	c.follow = append(c.follow, fn)
}

// Set moves the clock to now.
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
