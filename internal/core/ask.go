package core

import (
	"context"
	"fmt"
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
			_, err = decideAll(ctx, c.store, []*rules.Request{q.Request})
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

// decideAll decides requests on one consistent state: it loads the records that they ask for
// until they ask for no more.
func decideAll(ctx context.Context, store dibs.Store, requests []*rules.Request) (*rules.Batch, error) {
	state := rules.NewBatch(requests)
	rounds := 0
	for _, r := range requests {
		// The records that a decision asks for may depend on the changes of earlier decisions.
		rounds += maxRounds * r.Length()
	}
	for range rounds {
		refs, owners := state.Wanted()
		loaded, err := store.Load(ctx, refs)
		if err != nil {
			return nil, err
		}
		owned := make([][]*dibs.NameRecord, len(owners))
		for i, o := range owners {
			if owned[i], err = store.Owned(ctx, o.Scope, o.Entity, rules.OwnedLimit); err != nil {
				return nil, err
			}
		}
		state.Load(loaded, owned)
		state.Decide(requests)
		if state.Complete() {
			return state, nil
		}
	}
	return nil, fmt.Errorf("dibs: %d requests still asked for more records after %d loads", len(requests), rounds)
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
