package core

import (
	"context"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

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
