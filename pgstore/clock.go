package pgstore

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

// clock estimates the database's clock from its last answer.
type clock struct {
	mu   sync.Mutex
	now  dibs.Instant
	seen time.Time // when now was received, on this machine's clock
}

// clockMemory is how long an answer is used for estimates. In that time two clocks drift apart by
// a millisecond at most.
const clockMemory = 10 * time.Second

// learn notes the time of an answer; zero means that the answer had none.
func (c *clock) learn(now int64) {
	if now == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now()
	if c.now.Add(at.Sub(c.seen)) > dibs.Instant(now) && c.fresh(at) {
		return // it took longer than the last answer, and is less exact
	}
	c.now, c.seen = dibs.Instant(now), at
}

// reset forgets the last answer, because another server has taken over.
func (c *clock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = 0
}

func (c *clock) fresh(at time.Time) bool { return c.now != 0 && at.Sub(c.seen) < clockMemory }

func (c *clock) estimate(at time.Time) (dibs.Instant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Add(at.Sub(c.seen)), c.fresh(at)
}

// stamps gives out the numbers that order the feed: microseconds since 1970, but always
// higher than every stamp that this process has seen. So a change comes after those that it
// rests on, whatever the machines' clocks say.
type stamps struct {
	mu   sync.Mutex
	last int64
}

// see notes a stamp that was read.
func (s *stamps) see(stamp int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, stamp)
}

// next returns a stamp higher than all before.
func (s *stamps) next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, time.Now().UnixMicro())
	return s.last
}

// failovers counts changes of the server process: restarts, and standbys that took over. An
// asynchronous standby may lack the last commits, and give out their revisions again. So groups
// that were decided on records of the former server are decided again.
type failovers struct {
	count atomic.Int64

	mu      sync.Mutex // a connection to the new server is not used before the change is counted
	started string     // when the server was started, in its own words
}

var errFailover = errors.New("another server process serves the database than when this was decided")

// observe notes when the server was started, and reports whether the server has changed.
func (f *failovers) observe(started string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.started != "" && f.started != started
	f.started = started
	if changed {
		f.count.Add(1)
	}
	return changed
}
