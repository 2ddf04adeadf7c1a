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
}

// NewClock returns a clock that stands at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
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
