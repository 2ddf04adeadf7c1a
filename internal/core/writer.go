package core

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// gatherYields is how often the writer lets other goroutines run before it closes a batch.
	// No timer delays a lone call, yet a crowd gets into one batch.
	gatherYields = 16

	// blockedGrace is how long a caller that leaves waits for the end of a try of its blocked
	// call. Such a try is short and most likely fails, and "nothing happened" is a much better
	// answer than "outcome unknown".
	blockedGrace = 250 * time.Millisecond
)

// writer gathers calls into batches: while one commit is under way the next calls wait in
// the queue, and then all of them share one commit.
type writer struct {
	committer *committer

	queue    chan *call
	maxBatch int
	observer *dibs.Observer
	report   func(batch dibs.BatchInfo)

	closing chan struct{} // no more calls are taken
	closed  chan struct{} // the queue is not read any more
	once    sync.Once
	running sync.WaitGroup
}

func newWriter(store dibs.Store, ends *ends, cfg dibs.Config, report func(dibs.BatchInfo)) *writer {
	w := &writer{
		committer: &committer{store: store, guesses: newSpeculator(store), ends: ends, blocked: newBlockedCalls(cfg.QueueSize)},
		queue:     make(chan *call, cfg.QueueSize),
		maxBatch:  cfg.MaxBatch, observer: &cfg.Observer, report: report,
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	w.running.Go(w.retryBlocked)
	for range cfg.Writers {
		w.running.Go(w.run)
	}
	return w
}

// enqueue puts a request into the queue. A full queue makes the caller wait: that is the
// back-pressure.
func (w *writer) enqueue(ctx context.Context, c *call) *dibs.Error {
	if err := ctx.Err(); err != nil {
		return dibs.Unavailable(err)
	}
	if traces(w.observer) {
		c.ctx = ctx
	}
	select {
	case <-w.closing:
		return dibs.Unavailable(dibs.ErrClosed)
	default:
	}
	select {
	case w.queue <- c:
		return nil
	case <-ctx.Done():
		return dibs.Unavailable(ctx.Err())
	case <-w.closing:
		return dibs.Unavailable(dibs.ErrClosed)
	}
}

// wait returns the answer to a call. A context that ends while the call waits in the queue
// withdraws it, and nothing happened. While the call is in a batch, its outcome is unknown.
func (w *writer) wait(ctx context.Context, c *call) *dibs.Error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		// A call in a batch is withdrawn too: if the batch finds it blocked, it is not tried again.
		if c.state.Swap(callWithdrawn) == callQueued {
			return dibs.Unavailable(ctx.Err())
		}
		if c.wasBlocked.Load() {
			select {
			case <-c.done:
			case <-time.After(blockedGrace):
			}
		}
		select {
		case <-c.done: // it was answered in the same moment
			return c.err
		default:
			return dibs.OutcomeUnknown(ctx.Err())
		}
	case <-w.closed: // the call came into the queue after the last read of it
		if c.state.CompareAndSwap(callQueued, callWithdrawn) {
			return dibs.Unavailable(dibs.ErrClosed)
		}
		<-c.done
		return c.err
	}
}

func (w *writer) run() {
	for {
		select {
		case c := <-w.queue:
			w.commit(w.gather(c))
		case <-w.closing:
			return
		}
	}
}

// gather takes the calls that wait, up to the size of a batch, until no more have come for
// some time.
func (w *writer) gather(first *call) []*call {
	batch := w.take(nil, first)
	for quiet := 0; quiet < gatherYields && len(batch) < w.maxBatch; {
		select {
		case c := <-w.queue:
			batch = w.take(batch, c)
			quiet = 0
		default:
			quiet++
			runtime.Gosched()
		}
	}
	return batch
}

// take adds a call to the batch, unless its caller has withdrawn it.
func (w *writer) take(batch []*call, c *call) []*call {
	if c.state.CompareAndSwap(callQueued, callTaken) {
		return append(batch, c)
	}
	return batch
}

func (w *writer) commit(batch []*call) {
	if len(batch) == 0 {
		return
	}
	start := time.Now()
	// The commit belongs to many callers: none of their contexts can end it.
	ctx, end := w.begin(batch)
	commits, err := w.committer.process(ctx, batch)
	end(err)
	w.report(dibs.BatchInfo{Requests: len(batch), Commits: commits, Queued: len(w.queue), Took: time.Since(start), Err: err})
}

// begin tells the observer of a batch.
func (w *writer) begin(batch []*call) (context.Context, func(error)) {
	ctx := context.Background()
	if !traces(w.observer) {
		return ctx, ended
	}
	callers := make([]context.Context, len(batch))
	for i, c := range batch {
		callers[i] = c.ctx
	}
	return beginWork(ctx, w.observer, dibs.Work{Kind: dibs.WorkBatch, Op: "batch", Size: len(batch), Callers: callers})
}

// close stops the writer: it finishes the calls in a batch and refuses those that wait.
func (w *writer) close() {
	w.once.Do(func() {
		close(w.closing)
		w.running.Wait()
		close(w.closed)
	})
}
