package core

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxShared is how many records a question may read to share a Load with others: a small
	// question should not wait for a large one.
	maxShared = 64
	// maxRereads is how often a read is repeated because a record changed between its steps.
	maxRereads = 20
)

// ask answers a question from one consistent state of the engine. Small questions share reads
// with others.
func ask[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answer(ctx, c, q, c.reader != nil && q.Size() <= maxShared)
}

// askAlone answers a question from one consistent state of the engine, by a read of its own.
func askAlone[T any](ctx context.Context, c *core, q *rules.Job[T]) (T, error) {
	return answer(ctx, c, q, false)
}

// askUnchanged asks a question, calls read, and asks again, until the version is the same before
// and after. It returns the last answer.
func askUnchanged[T any, V comparable](ctx context.Context, c *core, q *rules.Job[T], version func(T) V, read func(T) error) (answer T, _ error) {
	before, err := askAlone(ctx, c, q)
	for range maxRereads {
		if err != nil {
			return answer, err
		}
		if err := read(before); err != nil {
			return answer, err
		}
		after, failed := askAlone(ctx, c, q)
		if failed == nil && version(after) == version(before) {
			return after, nil
		}
		before, err = after, failed
	}
	return answer, dibs.Unavailable(errContended)
}

// answer decides a question by a read, which it may share with others. If the answer rests on
// past ends that are not final, this caller alone waits until they are, and the question is
// decided again.
func answer[T any](ctx context.Context, c *core, q *rules.Job[T], share bool) (none T, _ error) {
	var awaited []rules.PastEnd
	for range maxRereads {
		var err error
		if share {
			err = c.reader.decide(ctx, q.Request)
		} else {
			err = decideAll(ctx, c.store, q.Request)
		}
		if err != nil {
			return none, err
		}
		open := c.ends.open(q.Request, awaited)
		if len(open) == 0 {
			answer, refused := q.Result()
			if refused != nil {
				return none, refused
			}
			return answer, nil
		}
		if err := c.ends.await(ctx, open); err != nil {
			return none, err
		}
		share, awaited = false, open
	}
	return none, dibs.Unavailable(errContended)
}

// maxRounds is how often one decision may ask for more records. The longest rule needs four
// rounds if nothing changes meanwhile. But each round loads all records again, and a changed
// record may then lead to a different one.
const maxRounds = 50

// decideAll decides requests on one consistent state.
func decideAll(ctx context.Context, store dibs.Store, requests ...*rules.Request) error {
	desk := desks.Get().(*desk)
	defer desks.Put(desk)
	desk.requests = append(desk.requests[:0], requests...)
	return desk.decide(ctx, store)
}

// decide decides the requests on one consistent state: it loads the records that they ask for
// until they ask for no more.
func (d *desk) decide(ctx context.Context, store dibs.Store) error {
	state := &d.state
	state.Begin(d.requests)
	rounds := 0
	for _, r := range d.requests {
		// The records that a decision asks for may depend on the changes of earlier decisions.
		rounds += maxRounds * r.Length()
	}
	for range rounds {
		refs, owners := state.Wanted()
		loaded, err := store.Load(ctx, refs)
		if err != nil {
			return err
		}
		owned := make([][]*dibs.NameRecord, len(owners))
		for i, o := range owners {
			if owned[i], err = store.Owned(ctx, o.Scope, o.Entity, rules.OwnedLimit); err != nil {
				return err
			}
		}
		state.Load(loaded, owned)
		state.Decide(d.requests)
		if state.Complete() {
			return nil
		}
	}
	return fmt.Errorf("dibs: %d requests still asked for more records after %d loads", len(d.requests), rounds)
}

// maxFinalEnds bounds how many final ends [pastEnds] remembers. A forgotten end is awaited
// once more.
const maxFinalEnds = 4096

// pastEnds waits for the commits that could still contradict an answer which rests on time
// alone; see [rules.PastEnd]. An end is final once no such commit can become visible, and open
// before. pastEnds remembers final ends, so that it awaits each end once, and not for every
// question until the record is swept.
type pastEnds struct {
	store dibs.Store

	mu    sync.Mutex
	final map[rules.Key]rules.PastEnd
}

// open returns the open ends that the last decision of a request rests on. An end that was
// awaited before that decision is final.
func (e *pastEnds) open(r *rules.Request, awaited []rules.PastEnd) []rules.PastEnd {
	ended := r.PastEnds()
	if len(ended) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(ended), func(end rules.PastEnd) bool {
		if slices.Contains(awaited, end) {
			e.remember(end)
		}
		return e.final[rules.KeyOf(end.Ref)] == end
	})
}

func (e *pastEnds) remember(end rules.PastEnd) {
	if e.final == nil || len(e.final) >= maxFinalEnds {
		e.final = make(map[rules.Key]rules.PastEnd)
	}
	e.final[rules.KeyOf(end.Ref)] = end
}

func (e *pastEnds) isFinal(end rules.PastEnd) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.final[rules.KeyOf(end.Ref)] == end
}

// await waits for the commits under way that could contradict these ends. A request that rests
// on them then has to be decided again.
func (e *pastEnds) await(ctx context.Context, open []rules.PastEnd) *dibs.Error {
	refs := make([]dibs.Ref, len(open))
	var last dibs.Instant
	for i, end := range open {
		refs[i] = end.Ref
		last = max(last, end.At)
	}
	if err := e.store.Await(ctx, refs, last); err != nil {
		if classified := asError(err); classified.Code == dibs.CodeUnavailable {
			return classified
		}
		return dibs.Unavailable(err)
	}
	return nil
}

// errEndOpen answers a call that rests on an open end. Callers of the registry never see it:
// [core.await] waits on the goroutine of the caller and within its deadline, so that a commit
// that hangs delays no batch.
var errEndOpen = &dibs.Error{Code: dibs.CodeUnavailable, Message: "the answer rests on an end that is not final yet"}

const (
	maxQuestions = 128 // that share one read
	maxReads     = 4   // under way at once
)

// reader decides questions, many with one Load. Questions gather before a read begins. So each
// answer rests on a Load that began after its question was asked, and a lone question waits only
// for goroutines that are ready to run.
type reader struct {
	store    dibs.Store
	observer *dibs.Observer
	maxReads int

	mu        sync.Mutex
	waiting   []*question
	gathering bool // the next read is about to begin
	reads     int  // under way
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

// decide decides a question by one read, which it may share with others. A question that is alone
// in its read is decided on the goroutine of its caller.
func (r *reader) decide(ctx context.Context, asked *rules.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := &question{request: asked, ctx: ctx}
	if r.join(q) {
		batch := r.gather(q)
		if len(batch) == 1 { // q itself
			defer r.endAlone()
			return decideAll(ctx, r.store, asked)
		}
		go r.read(batch)
	}
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		r.withdraw(q)
		return ctx.Err()
	}
}

// join makes a question wait, and reports whether the caller has to gather the next read.
func (r *reader) join(q *question) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, q)
	if r.gathering || r.reads == r.maxReads {
		q.done = make(chan struct{})
		return false
	}
	r.gathering = true
	return true
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

// gather yields to other goroutines until enough questions wait, or none has come for
// gatherYields yields: a larger read costs less for each question. It returns the questions of the
// read that begins, if there still are any. One of those that wait may be the caller's own, which
// has to be told only if it is not alone.
func (r *reader) gather(own *question) []*question {
	for quiet, last := 0, 0; quiet < gatherYields && last < maxQuestions; quiet++ {
		runtime.Gosched()
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
		if n != last {
			quiet, last = 0, n
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gathering = false
	n := min(len(r.waiting), maxQuestions)
	if n == 0 {
		return nil
	}
	if own != nil && n > 1 {
		own.done = make(chan struct{})
	}
	r.reads++
	batch := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	if len(r.waiting) == 0 {
		r.waiting = nil
	}
	return batch
}

// end ends a read, and reports whether its goroutine has to gather another one.
func (r *reader) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads--
	if r.gathering || len(r.waiting) == 0 {
		return false
	}
	r.gathering = true
	return true
}

// endAlone ends the read of a lone question. Those that came meanwhile share the next.
func (r *reader) endAlone() {
	if r.end() {
		go func() { r.read(r.gather(nil)) }()
	}
}

// read decides a batch of questions, and those that come meanwhile, until there are none.
func (r *reader) read(batch []*question) {
	for len(batch) > 0 {
		requests := make([]*rules.Request, len(batch))
		for i, q := range batch {
			requests[i] = q.request
		}
		// The read belongs to many callers, so none of their contexts can end it.
		ctx, end := beginBatch(r.observer, "read", batch, func(q *question) context.Context { return q.ctx })
		err := decideAll(ctx, r.store, requests...)
		end(err)
		for _, q := range batch {
			q.err = err
			close(q.done)
		}
		if !r.end() {
			return
		}
		batch = r.gather(nil)
	}
}
