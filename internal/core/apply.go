package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Apply decides commands and commits what they change.
func (c *core) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	start := time.Now()
	results, err := c.apply(ctx, req)
	observeCommand(&c.cfg.Observer, req, start, err)
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (c *core) apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, *dibs.Error) {
	var now dibs.Instant
	var batch uint64
	r, err := c.rules().Apply(req)
	if err == nil {
		call := newCall(r, false)
		if err = c.submit(ctx, call); err == nil {
			return r.Result()
		}
		if err.Code == dibs.CodeUnavailable || err.Code == dibs.CodeOutcomeUnknown {
			return nil, err // not a refusal, and the writer may still use the request
		}
		now, batch = r.DecidedAt(), call.batch
	}
	if !req.DryRun {
		c.noteRefusal(err, now)
	}
	c.suggestFor(ctx, err, batch)
	return nil, err
}

// submit decides a call and commits what it changes.
func (c *core) submit(ctx context.Context, call *call) *dibs.Error {
	if err := c.send(ctx, call); err != nil {
		return err
	}
	return c.await(ctx, call)
}

// send hands a call to the writer. In a transaction of the caller, send decides and commits
// the call itself.
func (c *core) send(ctx context.Context, sent *call) *dibs.Error {
	if !c.IsBound() {
		return c.writer.enqueue(ctx, sent)
	}
	if _, err := c.tx.process(ctx, []*call{sent}); errors.Is(err, errContended) {
		sent.err = dibs.Unavailable(dibs.ErrRetryTx)
	}
	return nil
}

// await returns the answer to a call that was sent. If the answer rests on a past end, await
// waits until the end is final and sends the request again.
func (c *core) await(ctx context.Context, sent *call) *dibs.Error {
	call := sent
	for range maxRereads {
		var err *dibs.Error
		if c.IsBound() {
			err = call.err // send has answered the call
		} else {
			err = c.writer.wait(ctx, call)
		}
		if err != errEndOpen {
			return err
		}
		open := c.ends.open(call.Request, call.awaited)
		if err := c.ends.await(ctx, open); err != nil {
			return err
		}
		call = newCall(call.Request, call.noWait)
		call.awaited = open
		sent.batch = 0 // another batch will answer
		if err := c.send(ctx, call); err != nil {
			return err
		}
	}
	return dibs.Unavailable(errContended)
}

// perform decides a job of the registry itself and commits what it changes. With noWait it
// fails if another transaction blocks the job.
func perform[T any](ctx context.Context, c *core, job *rules.Job[T], noWait bool) (outcome T, err *dibs.Error) {
	if err := c.submit(ctx, newCall(job.Request, noWait)); err != nil {
		return outcome, err
	}
	return job.Result()
}

// sendAll hands jobs to the writer, which commits many of them together. Each of the calls has
// to be awaited. With noWait a job fails if another transaction blocks it.
func sendAll[T any](ctx context.Context, c *core, jobs []*rules.Job[T], noWait bool) (calls []*call, err *dibs.Error) {
	for _, job := range jobs {
		call := newCall(job.Request, noWait)
		if err := c.send(ctx, call); err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// call is a request on its way through the writer. Either the writer takes it into a batch or
// its caller withdraws it, whichever happens first. A call that a transaction of another
// process blocks waits again, in [blockedCalls].
type call struct {
	*rules.Request
	ctx   context.Context // of the caller, for traces; nil without traces
	state atomic.Uint32   // callQueued, callTaken or callWithdrawn
	done  chan struct{}   // closed with the answer; the writer does not use the call after that
	err   *dibs.Error     // the answer
	batch uint64          // the number of the batch that answered it; 0 if that is not known

	noWait       bool            // it fails if another transaction blocks it
	inOrder      bool            // no later call of its batch may overtake it, not even if it is blocked
	guessedWrong bool            // it was blocked: its records are loaded from now on
	awaited      []rules.PastEnd // the ends that were awaited before the last decision

	pause      time.Duration // about how long it waited when it was blocked last; 0 if it never was
	wasBlocked atomic.Bool
}

const (
	callQueued    uint32 = iota // it waits, in the queue or blocked
	callTaken                   // it is in a batch
	callWithdrawn               // its caller has left
)

func newCall(r *rules.Request, noWait bool) *call {
	return &call{Request: r, noWait: noWait, done: make(chan struct{})}
}

func (c *call) answer(err *dibs.Error) {
	c.err = err
	close(c.done)
}

// fail answers calls with an error of the engine.
func fail(calls []*call, err error) {
	for _, c := range calls {
		e := *asError(err) // each caller gets its own copy
		c.answer(&e)
	}
}

// asError returns the *dibs.Error in the tree of err. The error of a context means that the
// engine did nothing, and so does ErrRetryTx. After any other error that the engine did not
// classify, the outcome is unknown.
func asError(err error) *dibs.Error {
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, dibs.ErrRetryTx):
		return dibs.Unavailable(err)
	default:
		return dibs.OutcomeUnknown(err)
	}
}

const (
	// gatherYields is how often the writer yields to other goroutines before it closes a batch.
	// Concurrent calls get into one batch, and no timer delays any.
	gatherYields = 16

	// blockedGrace is how long a caller whose context has ended waits for a running retry of
	// its blocked call. Such a retry is short and most likely fails, and "nothing happened" is a
	// much better answer than "outcome unknown".
	blockedGrace = 250 * time.Millisecond
)

// writer gathers calls into batches: while one commit is under way, the next calls wait in
// the queue, and then they share one commit.
type writer struct {
	committer *committer
	joined    *joinedStore // of the committer

	queue    chan *call
	maxBatch int
	traffic  traffic
	observer *dibs.Observer
	report   func(batch dibs.BatchInfo)

	lane chan struct{} // has an element while an import commits

	closing chan struct{} // closed when the writer accepts no more calls
	closed  chan struct{} // closed when the queue is no longer read
	once    sync.Once
	running sync.WaitGroup
}

func newWriter(store dibs.Store, ends *pastEnds, activity *activityCounts, cfg dibs.Config, report func(dibs.BatchInfo)) *writer {
	closing := make(chan struct{})
	blocked := &blockedCalls{limit: int64(cfg.QueueSize), due: make(chan *call, cfg.QueueSize), closing: closing}
	joined := newJoinedStore(store)
	w := &writer{
		committer: &committer{store: joined, guesses: newGuesser(store), ends: ends, blocked: blocked, activity: activity}, joined: joined,
		queue:    make(chan *call, cfg.QueueSize),
		maxBatch: cfg.MaxBatch, observer: &cfg.Observer, report: report,
		lane: make(chan struct{}, 1), closing: closing, closed: make(chan struct{}),
	}
	w.running.Go(func() { w.run(blocked.due) })
	for range cfg.Writers {
		w.running.Go(func() { w.run(w.queue) })
	}
	return w
}

// enqueue puts a call into the queue. A full queue makes the caller wait: back-pressure.
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

// wait returns the answer to a call. If the context ends while the call waits, the call is
// withdrawn and nothing happened. If it ends while the call is in a batch, the outcome is
// unknown.
func (w *writer) wait(ctx context.Context, c *call) *dibs.Error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		// A call in a batch is withdrawn too: if the batch finds it blocked, it is not retried.
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
		case <-c.done: // it was answered at the same moment
			return c.err
		default:
			return dibs.OutcomeUnknown(ctx.Err())
		}
	case <-w.closed: // the call entered the queue after the last read
		if c.state.CompareAndSwap(callQueued, callWithdrawn) {
			return dibs.Unavailable(dibs.ErrClosed)
		}
		<-c.done
		return c.err
	}
}

// run commits batches of these calls until the writer closes. A caller that was alone with its
// last call most likely still is, unless another batch is under way, and the writer does not look
// for others.
func (w *writer) run(calls <-chan *call) {
	alone := true
	for {
		select {
		case c := <-calls:
			yields := gatherYields
			if alone && w.traffic.underWay.Load() == 0 {
				yields = 0
			}
			batch := w.gather(c, calls, yields)
			w.commit(batch)
			alone = len(batch) <= 1 && len(calls) == 0
		case <-w.closing:
			return
		}
	}
}

// rivalsFactor times maxBatch is the size of a batch in which nearly all calls are for one name.
const rivalsFactor = 32

// gather takes the calls that wait until the batch is full or no call has come for this many
// yields to other goroutines. A call for the same name as the one before it takes no room: one of
// them gets the name, and the refusals of the others cost the engine nothing.
func (w *writer) gather(first *call, calls <-chan *call, yields int) []*call {
	batch := w.take(nil, first)
	last, size := first, 1
	for quiet := 0; quiet <= yields && size < w.maxBatch && len(batch) < rivalsFactor*w.maxBatch; {
		select {
		case c := <-calls:
			batch = w.take(batch, c)
			if !c.IsRivalOf(last.Request) {
				size++
			}
			last, quiet = c, 0
		default:
			if quiet++; quiet <= yields {
				runtime.Gosched()
			}
		}
	}
	return batch
}

// take adds a call to the batch, unless its caller has withdrawn it.
func (w *writer) take(batch []*call, c *call) []*call {
	if c.pause > 0 {
		w.committer.blocked.waiting.Add(-1)
	}
	if c.state.CompareAndSwap(callQueued, callTaken) {
		return append(batch, c)
	}
	return batch
}

func (w *writer) commit(batch []*call) {
	if len(batch) > 0 {
		w.traffic.begin()
		w.commitBy(w.committer, batch)
		w.traffic.end()
	}
}

// takeLane waits for the lane on which batches are committed that do not go through the queue. There
// is one, so that large imports take at most two of several writers, however many there are.
func (w *writer) takeLane(ctx context.Context) (release func(), err error) {
	select {
	case w.lane <- struct{}{}:
		return func() { <-w.lane }, nil
	case <-ctx.Done():
		return nil, dibs.Unavailable(ctx.Err())
	case <-w.closing:
		return nil, dibs.Unavailable(dibs.ErrClosed)
	}
}

// commitOn commits a batch on the goroutine of its caller, which has the lane. Decided says that the
// batch was decided on the desk.
func (w *writer) commitOn(ctx context.Context, desk *desk, batch []*call, decided bool) {
	for _, c := range batch {
		if traces(w.observer) {
			c.ctx = ctx
		}
		c.state.Store(callTaken)
	}
	w.traffic.begin()
	w.commitWith(batch, func(ctx context.Context) (int, error) { return w.committer.processOn(ctx, desk, batch, decided) })
	w.traffic.end()
}

func (w *writer) commitBy(committer *committer, batch []*call) {
	w.commitWith(batch, func(ctx context.Context) (int, error) { return committer.process(ctx, batch) })
}

func (w *writer) commitWith(batch []*call, process func(context.Context) (commits int, err error)) {
	start := time.Now()
	// The commit belongs to many callers, so none of their contexts can end it.
	ctx, end := beginBatch(w.observer, "batch", batch, func(c *call) context.Context { return c.ctx })
	commits, err := process(ctx)
	end(err)
	w.report(dibs.BatchInfo{Requests: len(batch), Commits: commits, Queued: len(w.queue), Took: time.Since(start), Err: err})
}

// close stops the writer: it finishes the calls in a batch and refuses those that wait.
func (w *writer) close() {
	w.once.Do(func() {
		close(w.closing)
		w.running.Wait()
		close(w.closed)
	})
}

// A blocked call is retried after about shortestWait, then after about twice as long each
// time, up to longestWait, with jitter.
const (
	shortestWait = 10 * time.Millisecond
	longestWait  = 100 * time.Millisecond
	// longestHeld is the longest pause of calls that keep their order: they delay no others.
	longestHeld = time.Second
)

var (
	errHeld    = errors.New("another transaction, still open, holds a record that this command needs")
	errCrowded = errors.New(errHeld.Error() + ", and too many calls wait for such records already")
)

// blockedCalls are calls that need a record which another transaction holds. The writer
// retries them apart from other batches, so that they do not delay calls for other names.
type blockedCalls struct {
	limit   int64        // how many calls may wait
	waiting atomic.Int64 // how many do
	due     chan *call   // receives calls whose time has come
	closing <-chan struct{}
}

// add makes a call wait again: nothing happened, and its caller can withdraw it. It answers
// the call if the limit is reached or the caller has withdrawn it meanwhile.
func (b *blockedCalls) add(c *call) {
	if b.waiting.Add(1) > b.limit && c.pause == 0 { // a call that waited before may return
		b.waiting.Add(-1)
		c.answer(dibs.Unavailable(errCrowded))
		return
	}
	c.pause = min(max(2*c.pause, shortestWait), longestWait)
	c.wasBlocked.Store(true)
	if !c.state.CompareAndSwap(callTaken, callQueued) {
		b.waiting.Add(-1)
		c.answer(dibs.Unavailable(errHeld))
		return
	}
	time.AfterFunc(c.pause/2+rand.N(c.pause), func() {
		select {
		case b.due <- c:
		case <-b.closing:
		}
	})
}

// sleep waits, and reports whether the writer goes on.
func (b *blockedCalls) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-b.closing:
		return false
	}
}
