package dibs

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

const (
	// maxShared is how many records a question may look at to share a Load with others:
	// nobody should wait for somebody else's long list.
	maxShared = 64
	// maxLooked is how many questions share one.
	maxLooked = 128
	maxLooks  = 4
)

// reader answers questions, many with one Load. While one look at the engine is under
// way the next questions gather; so each answer rests on a Load that began after it was
// asked, and who is alone waits for nobody.
type reader struct {
	store    Store
	observer *Observer
	most     int // looks at once

	mu      sync.Mutex
	waiting []*inquiry
	looks   int // under way
}

// inquiry is a question on its way. Its request is the reader's until done is closed.
type inquiry struct {
	request *request
	ctx     context.Context // of who asks, only to tell whose question it is
	done    chan struct{}
	err     error
}

func newReader(store Store, observer *Observer) *reader {
	return &reader{store: store, observer: observer, most: min(runtime.GOMAXPROCS(0), maxLooks)}
}

// ask answers a question from one consistent moment of the engine. The question may be
// asked several times, and must keep nothing in between.
func ask[T any](ctx context.Context, c *core, p *preparer, question func(v *view) T) (T, error) {
	var answer, none T
	request := newQuestion(p, func(v *view) { answer = question(v) })
	if err := c.answer(ctx, request); err != nil {
		return none, err
	}
	return answer, nil
}

// newQuestion returns a request that changes nothing.
func newQuestion(p *preparer, question func(v *view)) *request {
	decide := func(v *view) (Result, *Error) {
		question(v)
		return Result{}, nil
	}
	return &request{decisions: []decision{decide}, wants: p.wants, dryRun: true}
}

// answer has a question answered together with others, unless it is long, or inside a
// transaction of the caller's.
func (c *core) answer(ctx context.Context, r *request) error {
	if c.reader == nil || len(r.wants) > maxShared {
		return c.answerAlone(ctx, r)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.reader.answer(ctx, r); err != nil || len(c.ends.open(r)) == 0 {
		return err
	}
	// It rests on an end that a commit under way may forestall. The caller waits for that
	// commit by itself: others are not to wait with it.
	if err := c.ends.await(ctx, r); err != nil {
		return err
	}
	return c.answerAlone(ctx, r)
}

// answerAlone answers a question apart from all others.
func (c *core) answerAlone(ctx context.Context, r *request) error {
	for range maxRereads {
		if err := look(ctx, c.store, r); err != nil || len(c.ends.open(r)) == 0 {
			return err
		}
		if err := c.ends.await(ctx, r); err != nil {
			return err
		}
	}
	return Unavailable(errContended)
}

// look answers a question by one look at the engine.
func look(ctx context.Context, store Store, r *request) error {
	if _, err := decideAll(ctx, store, []*request{r}); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// answer has a question answered by one look, which others may share.
func (r *reader) answer(ctx context.Context, question *request) error {
	if r.nobodyElse() {
		defer r.handOver()
		return look(ctx, r.store, question)
	}
	q := &inquiry{request: question, ctx: ctx, done: make(chan struct{})}
	r.add(q)
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		r.withdraw(q)
		return ctx.Err()
	}
}

// nobodyElse lets who is alone look for himself, which spares him the waiting.
func (r *reader) nobodyElse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.looks > 0 {
		return false
	}
	r.looks++
	return true
}

// handOver ends such a look. Who has come meanwhile shares the next one.
func (r *reader) handOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.looks--
		return
	}
	go r.look()
}

// add lets a question wait for the next look, which begins now unless enough are under
// way.
func (r *reader) add(q *inquiry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, q)
	if r.looks < r.most {
		r.looks++
		go r.look()
	}
}

// withdraw forgets a question that nobody waits for any more: while an engine hangs they
// would pile up.
func (r *reader) withdraw(q *inquiry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, q); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

// look answers what waits, until nothing does.
func (r *reader) look() {
	for {
		r.gather()
		batch := r.next()
		if len(batch) == 0 {
			return
		}
		requests := make([]*request, len(batch))
		for i, q := range batch {
			requests[i] = q.request
		}
		// It belongs to many callers: none of their contexts can end it.
		ctx, end := r.begin(batch)
		_, err := decideAll(ctx, r.store, requests)
		end(err)
		for _, q := range batch {
			switch {
			case err != nil:
				q.err = err
			case q.request.err != nil:
				q.err = q.request.err
			}
			close(q.done)
		}
	}
}

// begin tells of a look.
func (r *reader) begin(batch []*inquiry) (context.Context, func(error)) {
	ctx := context.Background()
	if !r.observer.traces() {
		return ctx, ended
	}
	callers := make([]context.Context, len(batch))
	for i, q := range batch {
		callers[i] = q.ctx
	}
	return r.observer.begin(ctx, Work{Kind: WorkBatch, Op: "look", Size: len(batch), Callers: callers})
}

// gather lets those who are about to ask do so, until nobody has come for some time: a
// larger look is a cheaper one.
func (r *reader) gather() {
	for quiet, last := 0, 0; quiet < gatherYields; quiet++ {
		runtime.Gosched()
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
		if n >= maxLooked {
			return
		}
		if n != last {
			quiet, last = 0, n
		}
	}
}

// next takes the questions of one look, or none, and then the look is over.
func (r *reader) next() []*inquiry {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), maxLooked)
	if n == 0 {
		r.looks--
		return nil
	}
	batch := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	if len(r.waiting) == 0 {
		r.waiting = nil
	}
	return batch
}
