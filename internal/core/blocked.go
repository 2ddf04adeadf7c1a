package core

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// A blocked call is retried after about shortestWait, then after about twice as long each
// time, up to longestWait, with jitter.
const (
	shortestWait = 10 * time.Millisecond
	longestWait  = 100 * time.Millisecond
)

var (
	errHeld    = errors.New("another transaction, still open, holds a record that this command needs")
	errCrowded = errors.New(errHeld.Error() + ", and too many calls wait for such records already")
)

// blockedCalls are calls that need a record which another transaction holds. The writer
// retries them apart from other batches, so that they do not delay calls for other names.
type blockedCalls struct {
	limit   int           // how many calls may wait
	arrived chan struct{} // receives when a call was added

	mu    sync.Mutex
	calls []*call
}

func newBlockedCalls(limit int) *blockedCalls {
	return &blockedCalls{limit: limit, arrived: make(chan struct{}, 1)}
}

// add makes a call wait again: nothing happened, and its caller can withdraw it. It answers
// the call if the limit is reached or the caller has withdrawn it meanwhile.
func (b *blockedCalls) add(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.pause == 0 && len(b.calls) >= b.limit { // a call that waited before may return
		c.answer(dibs.Unavailable(errCrowded))
		return
	}
	c.pause = min(max(2*c.pause, shortestWait), longestWait)
	c.retryAt = time.Now().Add(c.pause/2 + rand.N(c.pause))
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

// due removes and returns at most `most` calls whose time has come. It also returns the time of
// the next call, or zero.
func (b *blockedCalls) due(now time.Time, most int) (calls []*call, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = slices.DeleteFunc(b.calls, func(c *call) bool {
		if len(calls) < most && !c.retryAt.After(now) {
			calls = append(calls, c)
			return true
		}
		if next.IsZero() || c.retryAt.Before(next) {
			next = c.retryAt
		}
		return false
	})
	return calls, next
}

// retryBlocked retries blocked calls until the writer closes.
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

		var wake <-chan time.Time // nil, which never receives, while no call waits
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
