package dibs

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// gatherYields is how often the writer lets others run before it closes a batch.
// No timer delays a lone command, yet a crowd gets into one batch.
const gatherYields = 16

// ticket is a request on its way to the engine. It is taken into a batch, or withdrawn
// by its caller, whoever is first; and it is back among those that wait while a
// transaction of somebody else is in its way.
type ticket struct {
	*request
	ctx    context.Context // of its caller, only to tell whose request it is; nil where nobody asks
	lot    *lot
	state  atomic.Uint32
	result *Error
	done   chan struct{}

	wasParked atomic.Bool

	// In the lot: how long it waits this time, and when it is tried again.
	pause time.Duration
	again time.Time
}

// answer settles the ticket.
func (t *ticket) answer(err *Error) {
	t.result = err
	close(t.done)
}

// busy puts the ticket aside for a while.
func (t *ticket) busy() {
	if t.impatient {
		t.answer(Unavailable(errHeld))
		return
	}
	t.lot.park(t)
}

// parkedGrace is how long a caller who leaves waits for the end of a try that was
// made once more. Such a try takes moments only, and is most likely in vain: that is
// worth a little patience, since "nothing happened" is a much better answer than "who
// knows".
const parkedGrace = 250 * time.Millisecond

const (
	ticketQueued    uint32 = iota // it waits, in the queue or parked
	ticketTaken                   // it is in a batch
	ticketWithdrawn               // its caller has left
)

// writer gathers the commands in flight into batches: while one commit is under
// way the next commands wait in the queue, and then all of them share one.
type writer struct {
	committer *committer

	queue    chan *ticket
	lot      *lot
	maxBatch int
	observer *Observer
	report   func(batch BatchInfo)

	closing chan struct{} // no more requests are taken
	closed  chan struct{} // nobody will look at the queue again
	once    sync.Once
	running sync.WaitGroup
}

func newWriter(store Store, ends *ends, cfg Config, report func(BatchInfo)) *writer {
	w := &writer{
		committer: &committer{store: store, guesses: newSpeculator(store), ends: ends},
		queue:     make(chan *ticket, cfg.QueueSize), lot: newLot(cfg.QueueSize),
		maxBatch: cfg.MaxBatch, observer: &cfg.Observer, report: report,
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	w.running.Go(w.retryParked)
	for range cfg.Writers {
		w.running.Go(w.run)
	}
	return w
}

// submit hands a request in and waits for its answer. A context that ends while the
// request waits withdraws it: nothing happened. While it is in a batch nobody can
// tell.
func (w *writer) submit(ctx context.Context, r *request) *Error {
	t, err := w.enqueue(ctx, r)
	if err != nil {
		return err
	}
	return w.wait(ctx, t)
}

// enqueue puts a request into the queue. A full queue makes the caller wait: that
// is the backpressure.
func (w *writer) enqueue(ctx context.Context, r *request) (*ticket, *Error) {
	if err := ctx.Err(); err != nil {
		return nil, Unavailable(err)
	}
	t := &ticket{request: r, lot: w.lot, done: make(chan struct{})}
	r.caller = t
	if w.observer.traces() {
		t.ctx = ctx
	}
	select {
	case <-w.closing:
		return nil, Unavailable(ErrClosed)
	default:
	}
	select {
	case w.queue <- t:
		return t, nil
	case <-ctx.Done():
		return nil, Unavailable(ctx.Err())
	case <-w.closing:
		return nil, Unavailable(ErrClosed)
	}
}

// wait returns the answer to a request. One that rests on an end which a commit under way
// may forestall is handed in again once that cannot be any more.
func (w *writer) wait(ctx context.Context, t *ticket) *Error {
	r, queued := t.request, true
	return w.committer.ends.untilSettled(ctx, r, func() *Error {
		if !queued {
			var err *Error
			if t, err = w.enqueue(ctx, r); err != nil {
				return err
			}
		}
		queued = false
		return w.waitOnce(ctx, t)
	})
}

func (w *writer) waitOnce(ctx context.Context, t *ticket) *Error {
	select {
	case <-t.done:
		return t.result
	case <-ctx.Done():
		// Also from a batch: should that find it busy, it is not tried again.
		if t.state.Swap(ticketWithdrawn) == ticketQueued {
			return Unavailable(ctx.Err())
		}
		if t.wasParked.Load() {
			select {
			case <-t.done:
			case <-time.After(parkedGrace):
			}
		}
		select {
		case <-t.done: // it was answered in the same moment
			return t.result
		default:
			return OutcomeUnknown(ctx.Err())
		}
	case <-w.closed: // it slipped into the queue behind the last look at it
		if t.state.CompareAndSwap(ticketQueued, ticketWithdrawn) {
			return Unavailable(ErrClosed)
		}
		<-t.done
		return t.result
	}
}

func (w *writer) run() {
	for {
		select {
		case t := <-w.queue:
			w.commit(w.gather(t))
		case <-w.closing:
			return
		}
	}
}

// gather takes the tickets that wait, up to the size of a batch, until nobody has come
// for some time.
func (w *writer) gather(first *ticket) []*ticket {
	batch := w.take(nil, first)
	for quiet := 0; quiet < gatherYields && len(batch) < w.maxBatch; {
		select {
		case t := <-w.queue:
			batch = w.take(batch, t)
			quiet = 0
		default:
			quiet++
			runtime.Gosched()
		}
	}
	return batch
}

// take adds a ticket to the batch, unless its caller has withdrawn it.
func (w *writer) take(batch []*ticket, t *ticket) []*ticket {
	if t.state.CompareAndSwap(ticketQueued, ticketTaken) {
		return append(batch, t)
	}
	return batch
}

func (w *writer) commit(batch []*ticket) {
	if len(batch) == 0 {
		return
	}
	start := time.Now()
	requests := make([]*request, len(batch))
	for i, t := range batch {
		requests[i] = t.request
	}
	// The commit belongs to many callers: none of their contexts can end it.
	ctx, end := w.begin(batch)
	commits, err := w.committer.process(ctx, requests)
	end(err)
	w.report(BatchInfo{Requests: len(batch), Commits: commits, Queued: len(w.queue), Took: time.Since(start), Err: err})
}

// begin tells of a batch.
func (w *writer) begin(batch []*ticket) (context.Context, func(error)) {
	ctx := context.Background()
	if !w.observer.traces() {
		return ctx, ended
	}
	callers := make([]context.Context, len(batch))
	for i, t := range batch {
		callers[i] = t.ctx
	}
	return w.observer.begin(ctx, Work{Kind: WorkBatch, Op: "batch", Size: len(batch), Callers: callers})
}

// close stops the writer: what is in a batch is finished, what waits is refused.
func (w *writer) close() {
	w.once.Do(func() {
		close(w.closing)
		w.running.Wait()
		close(w.closed)
	})
}
