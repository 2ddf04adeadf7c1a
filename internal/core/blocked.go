package core

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// How long a blocked call waits before it is tried again: this long at first, about
// twice as long each time, with jitter.
const (
	shortestWait = 10 * time.Millisecond
	longestWait  = 100 * time.Millisecond
)

var (
	errHeld    = errors.New("another transaction, still under way, holds a record that this needs")
	errCrowded = errors.New("another transaction, still under way, holds a record that this needs, and too many calls wait for such records already")
)

// blockedCalls are calls that need a record which another transaction holds. The writer tries
// them again apart from other batches, so that no call for another name waits with them.
type blockedCalls struct {
	room    int           // how many may wait
	arrived chan struct{} // receives when a call was added

	mu    sync.Mutex
	calls []*call
}

func newBlockedCalls(room int) *blockedCalls {
	return &blockedCalls{room: room, arrived: make(chan struct{}, 1)}
}

// add lets a call wait again: nothing happened, and its caller can withdraw it. A call whose
// caller is leaving is answered.
func (b *blockedCalls) add(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.pause == 0 && len(b.calls) >= b.room { // a call that waited before may come back
		c.answer(dibs.Unavailable(errCrowded))
		return
	}
	c.pause = min(max(2*c.pause, shortestWait), longestWait)
	c.again = time.Now().Add(c.pause/2 + rand.N(c.pause))
	c.wasBlocked.Store(true)
	if !c.state.CompareAndSwap(callTaken, callQueued) {
		c.answer(dibs.Unavailable(errHeld))
		return
	}
	b.calls = append(b.calls, c)
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// due takes out the calls whose time has come, and returns the time of the next one.
func (b *blockedCalls) due(now time.Time, most int) (calls []*call, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = slices.DeleteFunc(b.calls, func(c *call) bool {
		if len(calls) < most && !c.again.After(now) {
			calls = append(calls, c)
			return true
		}
		if next.IsZero() || c.again.Before(next) {
			next = c.again
		}
		return false
	})
	return calls, next
}

// retryBlocked tries blocked calls again, until the writer closes.
func (w *writer) retryBlocked() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, next := w.committer.blocked.due(time.Now(), w.maxBatch)
		var batch []*call
		for _, c := range due {
			batch = w.take(batch, c)
		}
		w.commit(batch)

		var wake <-chan time.Time // never receives while no call waits
		if !next.IsZero() {
			timer.Reset(time.Until(next))
			wake = timer.C
		}
		select {
		case <-w.closing:
			return
		case <-w.committer.blocked.arrived:
		case <-wake:
		}
	}
}
