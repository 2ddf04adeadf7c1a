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
	maxQuestions = 128 // that share one read
	maxReads     = 4   // under way at once
)

// reader decides questions, many with one Load. While a read is under way, the next questions
// gather. So each answer rests on a Load that began after its question was asked, and a lone
// question does not wait.
type reader struct {
	store    dibs.Store
	observer *dibs.Observer
	maxReads int

	mu      sync.Mutex
	waiting []*question
	reads   int // under way
}

// question is a request that waits for a shared read. The request belongs to the reader until
// done is closed.
type question struct {
	request *rules.Request
	ctx     context.Context // of the caller, for traces
	done    chan struct{}
	err     error
}

func newReader(store dibs.Store, observer *dibs.Observer) *reader {
	return &reader{store: store, observer: observer, maxReads: min(runtime.GOMAXPROCS(0), maxReads)}
}

// decide decides a question by one read, which it may share with others.
func (r *reader) decide(ctx context.Context, asked *rules.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := r.join(ctx, asked)
	if q == nil {
		defer r.endAlone()
		_, err := decideAll(ctx, r.store, []*rules.Request{asked})
		return err
	}
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		r.withdraw(q)
		return ctx.Err()
	}
}

// join makes a question wait for the next read, which begins now unless enough are under way.
// If none is under way, it returns nil: the caller reads on its own goroutine.
func (r *reader) join(ctx context.Context, asked *rules.Request) *question {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads == 0 {
		r.reads++
		return nil
	}
	q := &question{request: asked, ctx: ctx, done: make(chan struct{})}
	r.waiting = append(r.waiting, q)
	if r.reads < r.maxReads {
		r.reads++
		go r.read()
	}
	return q
}

// endAlone ends the read of a lone caller. The questions that came meanwhile share the next.
func (r *reader) endAlone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.reads--
		return
	}
	go r.read()
}

// withdraw removes a question whose caller has left: such questions would pile up while an
// engine hangs.
func (r *reader) withdraw(q *question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, q); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

// read decides the questions that wait, until there are none.
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
		// The read belongs to many callers, so none of their contexts can end it.
		ctx, end := beginBatch(r.observer, "read", batch, func(q *question) context.Context { return q.ctx })
		_, err := decideAll(ctx, r.store, requests)
		end(err)
		for _, q := range batch {
			q.err = err
			close(q.done)
		}
	}
}

// gather yields to other goroutines until enough questions wait, or none has come for
// gatherYields yields: a larger read costs less for each question.
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

// next removes and returns the questions of one read. If there are none, the reading goroutine
// ends.
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
