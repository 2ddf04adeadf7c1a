package core

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxShared is how many records a question may read to share a Load with others: no
	// question should wait for the long list of another.
	maxShared = 64
	// maxQuestions is how many questions share one Load.
	maxQuestions = 128
	maxReads     = 4
)

// reader answers questions, many with one Load. While one read of the engine is under way
// the next questions gather. So each answer rests on a Load that began after its question was
// asked, and a lone question does not wait.
type reader struct {
	store    dibs.Store
	observer *dibs.Observer
	most     int // reads at once

	mu      sync.Mutex
	waiting []*question
	reads   int // under way
}

// question is a request that waits for a shared read. Its request is the reader's until done
// is closed.
type question struct {
	request *rules.Request
	ctx     context.Context // of its caller, for traces
	done    chan struct{}
	err     error
}

func newReader(store dibs.Store, observer *dibs.Observer) *reader {
	return &reader{store: store, observer: observer, most: min(runtime.GOMAXPROCS(0), maxReads)}
}

// ask answers a question from one consistent moment of the engine, with other questions if it
// is small.
func ask[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answered(q, c.answer(ctx, q.Request))
}

// askAlone answers a question from one consistent moment of the engine, apart from others.
func askAlone[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answered(q, c.answerAlone(ctx, q.Request, nil))
}

func answered[T any](q *rules.Job[T], err error) (answer T, _ error) {
	if err != nil {
		return answer, err
	}
	answer, _ = q.Result()
	return answer, nil
}

// answer answers a question with others, unless it is large, or inside a transaction of the
// caller's.
func (c *core) answer(ctx context.Context, r *rules.Request) error {
	if c.reader == nil || r.Size() > maxShared {
		return c.answerAlone(ctx, r, nil)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.reader.answer(ctx, r); err != nil {
		return err
	}
	open := c.ends.open(r, nil)
	if len(open) == 0 {
		return refusal(r)
	}
	// The caller waits by itself for the commits that could forestall these ends: the other
	// questions do not have to.
	if err := c.ends.await(ctx, open); err != nil {
		return err
	}
	return c.answerAlone(ctx, r, open)
}

// answerAlone answers a question apart from all others. The awaited ends were waited for
// before.
func (c *core) answerAlone(ctx context.Context, r *rules.Request, awaited []rules.PastEnd) error {
	for range maxRereads {
		if _, err := decideAll(ctx, c.store, []*rules.Request{r}); err != nil {
			return err
		}
		open := c.ends.open(r, awaited)
		if len(open) == 0 {
			return refusal(r)
		}
		if err := c.ends.await(ctx, open); err != nil {
			return err
		}
		awaited = open
	}
	return dibs.Unavailable(errContended)
}

// refusal returns the error of a question, without the trap of a typed nil.
func refusal(r *rules.Request) error {
	if _, err := r.Result(); err != nil {
		return err
	}
	return nil
}

// answer decides a question by one read, which others may share.
func (r *reader) answer(ctx context.Context, asked *rules.Request) error {
	if r.isIdle() {
		defer r.handOver()
		_, err := decideAll(ctx, r.store, []*rules.Request{asked})
		return err
	}
	q := &question{request: asked, ctx: ctx, done: make(chan struct{})}
	r.add(q)
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		r.withdraw(q)
		return ctx.Err()
	}
}

// isIdle reports whether no read is under way, and counts one that begins now: a lone caller
// reads on its own goroutine.
func (r *reader) isIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads > 0 {
		return false
	}
	r.reads++
	return true
}

// handOver ends the read of a lone caller. The questions that came meanwhile share the next.
func (r *reader) handOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.reads--
		return
	}
	go r.read()
}

// add lets a question wait for the next read, which begins now unless enough are under way.
func (r *reader) add(q *question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, q)
	if r.reads < r.most {
		r.reads++
		go r.read()
	}
}

// withdraw forgets a question whose caller has left: while an engine hangs they would pile up.
func (r *reader) withdraw(q *question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, q); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

// read answers the questions that wait, until there are none.
func (r *reader) read() {
	for {
		r.gather()
		batch := r.next()
		if len(batch) == 0 {
			return
		}
		requests := make([]*rules.Request, len(batch))
		for i, q := range batch {
			requests[i] = q.request
		}
		// The read belongs to many callers: none of their contexts can end it.
		ctx, end := r.begin(batch)
		_, err := decideAll(ctx, r.store, requests)
		end(err)
		for _, q := range batch {
			q.err = err
			close(q.done)
		}
	}
}

// begin tells the observer of a shared read.
func (r *reader) begin(batch []*question) (context.Context, func(error)) {
	ctx := context.Background()
	if !traces(r.observer) {
		return ctx, ended
	}
	callers := make([]context.Context, len(batch))
	for i, q := range batch {
		callers[i] = q.ctx
	}
	return beginWork(ctx, r.observer, dibs.Work{Kind: dibs.WorkBatch, Op: "read", Size: len(batch), Callers: callers})
}

// gather lets other goroutines ask, until no question has come for some time: a larger read
// is cheaper for each.
func (r *reader) gather() {
	for quiet, last := 0, 0; quiet < gatherYields; quiet++ {
		runtime.Gosched()
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
		if n >= maxQuestions {
			return
		}
		if n != last {
			quiet, last = 0, n
		}
	}
}

// next takes the questions of one read, or none; then the reading goroutine ends.
func (r *reader) next() []*question {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), maxQuestions)
	if n == 0 {
		r.reads--
		return nil
	}
	batch := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	if len(r.waiting) == 0 {
		r.waiting = nil
	}
	return batch
}
