package dibs

import (
	"context"
	"slices"
	"sync"
)

// pastEnd is an end that a decision rests on and that nothing but time has brought: a
// record in which something is over, although no commit has said so yet.
//
// Another process may have decided before the end that the hold is confirmed, extended or
// released, and its commit may still be under way, seen by no Load. So a decision that
// commits nothing, and rests on such an end, is not answered before the engine has waited
// for commits like that, and another Load has found the record as it was; see [ends].
type pastEnd struct {
	ref Ref
	rev uint64
	at  Instant
}

// maxSettled bounds what [ends] remembers. Beyond it an end is waited for once more.
const maxSettled = 4096

// ends waits for commits under way where answers rest on time alone. It remembers what was
// over for good, so that it waits for an end once, and not for every question until the
// record is swept.
type ends struct {
	store Store

	mu      sync.Mutex
	settled map[recordKey]pastEnd
}

func newEnds(store Store) *ends { return &ends{store: store} }

// open returns the ends that the request's last decision rests on, and that a commit under
// way may still forestall. One that was waited for, and is there in what was loaded since,
// is none of them.
func (e *ends) open(r *request) []pastEnd {
	if len(r.view.ended) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.view.ended), func(end pastEnd) bool {
		if slices.Contains(r.awaited, end) {
			e.settle(end)
		}
		return e.settled[end.ref.key()] == end
	})
}

// settle remembers an end that nothing can forestall any more.
func (e *ends) settle(end pastEnd) {
	if e.settled == nil || len(e.settled) >= maxSettled {
		e.settled = make(map[recordKey]pastEnd)
	}
	e.settled[end.ref.key()] = end
}

// isSettled reports whether nothing can forestall an end any more.
func (e *ends) isSettled(end pastEnd) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.settled[end.ref.key()] == end
}

// await waits for the commits under way that could forestall what the request's last
// decision rests on. The request has to be decided again then.
func (e *ends) await(ctx context.Context, r *request) *Error {
	open := e.open(r)
	refs := make([]Ref, len(open))
	var last Instant
	for i, end := range open {
		refs[i] = end.ref
		last = max(last, end.at)
	}
	if err := e.store.Await(ctx, refs, last); err != nil {
		if classified := asError(err); classified.Code == CodeUnavailable {
			return classified
		}
		return Unavailable(err)
	}
	r.awaited = open
	return nil
}

// errEndOpen answers a request that rests on an end which has to be waited for. Callers of
// the registry never see it: their own goroutine waits, within their own deadline, so that
// a commit that hangs holds up no batch.
var errEndOpen = &Error{Code: CodeUnavailable, Message: "the answer rests on an end that has to be waited for"}

// untilSettled has a request decided until all ends that it rests on are settled.
func (e *ends) untilSettled(ctx context.Context, r *request, decide func() *Error) *Error {
	for range maxRereads {
		err := decide()
		if err != errEndOpen {
			return err
		}
		if err := e.await(ctx, r); err != nil {
			return err
		}
	}
	return Unavailable(errContended)
}
