package dibs

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// How long a parked ticket waits before it is tried again: this long at first, about
// twice as long each time, with jitter.
const (
	shortestWait = 10 * time.Millisecond
	longestWait  = 100 * time.Millisecond
)

var (
	errHeld    = errors.New("another transaction, still under way, holds a record that this needs")
	errCrowded = errors.New("another transaction, still under way, holds a record that this needs, and too many wait for such already")
)

// lot is where tickets wait that met a record which a transaction of somebody else
// holds. They are tried again apart from everybody else's batches, so that nobody who
// wants another name waits with them.
type lot struct {
	room    int           // how many may wait
	arrived chan struct{} // receives when a ticket was parked

	mu     sync.Mutex
	parked []*ticket
}

func newLot(room int) *lot { return &lot{room: room, arrived: make(chan struct{}, 1)} }

// park puts a ticket that was taken back among those that wait: nothing happened, and
// its caller can withdraw it again. One whose caller is leaving is answered.
func (l *lot) park(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.pause == 0 && len(l.parked) >= l.room { // who was here before may come back
		t.answer(Unavailable(errCrowded))
		return
	}
	t.pause = min(max(2*t.pause, shortestWait), longestWait)
	t.again = time.Now().Add(t.pause/2 + rand.N(t.pause))
	t.wasParked.Store(true)
	if !t.state.CompareAndSwap(ticketTaken, ticketQueued) {
		t.answer(Unavailable(errHeld))
		return
	}
	l.parked = append(l.parked, t)
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// due takes out the tickets whose time has come, and says when that of the next one
// comes.
func (l *lot) due(now time.Time, most int) (tickets []*ticket, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked = slices.DeleteFunc(l.parked, func(t *ticket) bool {
		if len(tickets) < most && !t.again.After(now) {
			tickets = append(tickets, t)
			return true
		}
		if next.IsZero() || t.again.Before(next) {
			next = t.again
		}
		return false
	})
	return tickets, next
}

// retryParked tries parked tickets again, until the writer closes.
func (w *writer) retryParked() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, next := w.lot.due(time.Now(), w.maxBatch)
		var batch []*ticket
		for _, t := range due {
			batch = w.take(batch, t)
		}
		w.commit(batch)

		var wake <-chan time.Time // none while nobody waits
		if !next.IsZero() {
			timer.Reset(time.Until(next))
			wake = timer.C
		}
		select {
		case <-w.closing:
			return
		case <-w.lot.arrived:
		case <-wake:
		}
	}
}
