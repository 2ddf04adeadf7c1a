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
	ended    time.Time // the last reading; zero: never
	from, to time.Time // between which the clock was as it said
	said     dibs.Instant
}

// mostDrift is how far an engine's clock may be from the time that has passed. A time service
// corrects less, and slowly.
const mostDrift = time.Second

// jump returns by how much a clock that was read between two moments has jumped since it was
// read before; zero if it has not.
func (c *clockWatch) jump(from, to time.Time, now dibs.Instant) (by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.ended) {
		return 0 // another call was faster: it may have read the clock before this one, or after it
	}
	isFirst := c.ended.IsZero()
	c.ended = to
	passed := now.Sub(c.said)
	earliest, latest := c.from.Add(passed), c.to.Add(passed) // when a clock that has not jumped is as it says now
	switch isAhead, isBehind := earliest.Sub(to) > mostDrift, from.Sub(latest) > mostDrift; {
	case isFirst:
	case isAhead || isBehind:
		by = latest.Sub(to)
	case to.Sub(from) > mostDrift:
		// A slow answer says less than those before it. What they said counts on, or a jump that follows would be
		// lost in the time that it took.
		within := func(t time.Time) time.Time {
			switch {
			case t.Before(from):
				return from
			case t.After(to):
				return to
			}
			return t
		}
		from, to = within(earliest), within(latest)
	}
	c.from, c.to, c.said = from, to, now
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
