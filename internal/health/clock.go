package health

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// clockWatch compares an engine's clock with the time that passes in this process, which no
// setting of a clock changes.
type clockWatch struct {
	mu       sync.Mutex
	from, to time.Time // between which the clock was read last; zero: never
	said     dibs.Instant
}

// mostDrift is how far an engine's clock may be from the time that has passed. A time service
// corrects less, and slowly.
const mostDrift = time.Second

// jump returns by how much a clock that was read between two moments has jumped since it was
// read before; zero if it has not.
func (c *clockWatch) jump(from, to time.Time, now dibs.Instant) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	began, ended, said := c.from, c.to, c.said // the reading before
	if ended.After(to) {
		return 0 // another call was faster
	}
	c.from, c.to, c.said = from, to, now
	by := now.Sub(said) - to.Sub(ended)
	// Both readings may be older than their answers, which came late: then the clock seems to be ahead if
	// the first one was, and behind if this one was.
	isAhead, isBehind := by > mostDrift+ended.Sub(began), -by > mostDrift+to.Sub(from)
	if ended.IsZero() || !isAhead && !isBehind {
		return 0
	}
	return by
}

// noteClock logs that the engine's clock has jumped.
func (e *engine) noteClock(from time.Time, now dibs.Instant) {
	switch by := e.clock.jump(from, time.Now(), now); {
	case by < 0:
		e.reporter.log.Warn("the clock of the store was set back: holds last longer, and dates in histories may run backwards",
			"by", (-by).Round(time.Millisecond), "now", now.Time())
	case by > 0:
		e.reporter.log.Warn("the clock of the store was set ahead: holds end early", "by", by.Round(time.Millisecond), "now", now.Time())
	}
}
