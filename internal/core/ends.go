package core

import (
	"context"
	"slices"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// maxKnownEnds bounds how many ends [ends] remembers. Beyond it an end is waited for once more.
const maxKnownEnds = 4096

// ends waits for commits under way where an answer rests on time alone; see [pastEnd]. It
// remembers ends that are final, so that it waits for an end once and not for every question
// until the record is swept.
type ends struct {
	store dibs.Store

	mu    sync.Mutex
	final map[rules.Key]rules.PastEnd
}

func newEnds(store dibs.Store) *ends { return &ends{store: store} }

// open returns the ends that a request's last decision rests on and that a commit under way
// may still forestall. An end that was awaited before that decision was loaded is final.
func (e *ends) open(r *rules.Request, awaited []rules.PastEnd) []rules.PastEnd {
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

func (e *ends) remember(end rules.PastEnd) {
	if e.final == nil || len(e.final) >= maxKnownEnds {
		e.final = make(map[rules.Key]rules.PastEnd)
	}
	e.final[rules.KeyOf(end.Ref)] = end
}

// isFinal reports whether no commit can forestall an end any more.
func (e *ends) isFinal(end rules.PastEnd) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.final[rules.KeyOf(end.Ref)] == end
}

// await waits for the commits under way that could forestall these ends. What rests on them
// has to be decided again then.
func (e *ends) await(ctx context.Context, open []rules.PastEnd) *dibs.Error {
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

// errEndOpen answers a call that rests on an end which has to be waited for. Callers of the
// registry never see it: their own goroutine waits, within their own deadline, so that a commit
// that hangs delays no batch.
var errEndOpen = &dibs.Error{Code: dibs.CodeUnavailable, Message: "the answer rests on an end that has to be waited for"}
