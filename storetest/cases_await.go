package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// shortly is the deadline for an Await that cannot succeed.
const shortly = 100 * time.Millisecond

// awaitCommit confirms a hold just before its end, by a commit that stalls, and asks through
// every handle whether the hold is over.
func awaitCommit(e *env) {
	for i, reader := range e.handles() {
		held := name("slug", fmt.Sprint("late", i), dibs.Held)
		confirmed := next(held, func(n *dibs.NameRecord) {
			n.State, n.Status, n.Owner, n.ConfirmedAt = dibs.Active, dibs.StatusConfirmed, dibs.Entity{Type: "user", ID: fmt.Sprint(i)}, e.now()
		})
		e.commit(create(held))
		end := e.now() + 1
		stalled, resume := e.stall()
		defer resume()
		outcome := make(chan error, 1)
		go func() {
			g := join(update(held, confirmed), telling(happened(dibs.EventConfirmed, confirmed)), within(dibs.Window{Before: end}))
			outcome <- mustCommit(context.WithoutCancel(e.Context()), e.store, g)
		}()
		select {
		case <-stalled:
		case err := <-outcome:
			if err != nil || e.harness.Stall != nil {
				e.Fatalf("the commit did not stall: %v", err)
			}
			e.Logf("did not run: the harness cannot stall a commit")
			return
		}
		e.clock.Advance(time.Millisecond)
		isOver, err := over(e, reader, held, func() error { return e.await(reader, end, held.Ref()) })
		resume()
		committed := <-outcome == nil
		switch {
		case err != nil && !committed:
			e.Fatalf("Await waited (%v) for a commit that then was stale, although no record it read had changed", err)
		case err == nil && isOver && committed:
			e.Fatalf("Await returned and Load found the hold unchanged, so over; then a commit decided before its end succeeded")
		case err == nil && !isOver && !committed:
			e.Fatalf("Load found a commit that did not succeed")
		}
		isOver, err = over(e, reader, held, func() error { return reader.Await(e.Context(), refsOf(held), end) })
		if err != nil || isOver == committed {
			e.Fatalf("hold over: %v, confirmed: %v, error: %v", isOver, committed, err)
		}
	}
}

// stall makes the next commit stop between reading the clock and becoming visible.
func (e *env) stall() (stalled <-chan struct{}, resume func()) {
	if e.harness.Stall != nil {
		stalled, resume = e.harness.Stall(e.TB, e.store)
	} else {
		stalled, resume = e.clock.stall()
	}
	return stalled, sync.OnceFunc(resume)
}

// over awaits an end and reports whether the name is unchanged afterwards.
func over(e *env, store dibs.Store, n *dibs.NameRecord, await func() error) (bool, error) {
	e.Helper()
	if err := await(); err != nil {
		return false, err
	}
	found, err := loadAll(e.Context(), store, n.Ref())
	if err != nil {
		e.Fatalf("%v", err)
	}
	got, ok := found[n.Ref()]
	return ok && got.Revision() == n.Rev, nil
}

// await calls Await with a short deadline and demands that it returns at the deadline.
func (e *env) await(store dibs.Store, end dibs.Instant, refs ...dibs.Ref) error {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), shortly)
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- store.Await(ctx, refs, end) }()
	select {
	case err := <-returned:
		if err != nil && !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, ctx.Err()) {
			e.Fatalf("Await returned the error %v, it must match ErrUnavailable or its context's", err)
		}
		return err
	case <-time.After(shortly + e.patience):
		e.Fatalf("Await has not returned %v after its context ended", e.patience)
		return nil
	}
}

func awaitNothing(e *env) {
	held, other, gone := name("slug", "a", dibs.Held), name("slug", "b", dibs.Active), name("slug", "gone", dibs.Held)
	quota, owner := document(dibs.KindQuota, "a"), entity("", dibs.Entity{Type: "user", ID: "1"})
	e.commit(create(held, other, quota, owner))
	var many []dibs.Ref
	for i := range 1200 {
		many = append(many, name("slug", fmt.Sprint(i), dibs.Held).Ref())
	}
	handles := e.handles()
	for _, refs := range [][]dibs.Ref{refsOf(held), refsOf(held, gone, other, held), refsOf(gone), refsOf(quota, held, owner), many} {
		for _, store := range handles {
			for _, end := range []dibs.Instant{1, e.now() - 1, e.now()} {
				if err := store.Await(e.Context(), refs, end); err != nil {
					e.Fatalf("Await of %d records without a commit in progress returned %v", len(refs), err)
				}
			}
		}
	}
	e.commit(update(held, next(held, nil))) // Await leaves nothing locked
	e.has(next(held, nil), other, quota, owner)
}

func awaitClock(e *env) {
	held := name("slug", "a", dibs.Held)
	e.commit(create(held))
	end := e.now() + 1
	if err := e.await(e.store, end, held.Ref()); err == nil {
		e.Fatalf("Await returned a millisecond before the end, when a commit may still begin in time")
	}
	e.clock.Advance(time.Millisecond)
	if err := e.store.Await(e.Context(), refsOf(held), end); err != nil {
		e.Fatalf("Await returned %v at the end", err)
	}
	e.stale("a commit that begins after Await has returned is late", join(update(held, next(held, nil)), within(dibs.Window{Before: end})))
}

// patience is that of a case. Working engines answer much sooner, but a busy machine may not run
// them. The suite's own tests, of stores that wait, have less.
const patience = time.Minute

func commitBusy(e *env) {
	if e.harness.Hold == nil {
		e.Logf("did not run: the harness cannot hold a record")
		return
	}
	held, free := name("slug", "held", dibs.Active), name("slug", "free", dibs.Active)
	e.commit(create(held, free))
	release := sync.OnceFunc(e.harness.Hold(e.TB, e.store, held.Ref()))
	defer release()

	written := document(dibs.KindTally, "beside")
	g := join(create(written), update(held, next(held, nil)), telling(happened(dibs.EventExtended, next(held, nil))))
	outcomes := make(chan []dibs.Outcome, 1)
	go func() {
		// An error leaves the channel's value empty, and is reported below.
		found, _ := e.store.Commit(context.WithoutCancel(e.Context()), []dibs.Group{g})
		outcomes <- found
	}()
	select {
	case found := <-outcomes:
		if len(found) != 1 || found[0] != dibs.Busy {
			e.Fatalf("the outcome of a group with a locked record is %v, it must be Busy (%d)", found, dibs.Busy)
		}
	case <-time.After(e.patience):
		release()
		<-outcomes
		e.Fatalf("Commit waited more than %v for a locked record", e.patience)
	}
	e.has(held)
	e.lacks(written)
	if events, err := e.store.Events(e.Context(), dibs.EventQuery{Limit: 10}); err != nil || len(events) != 0 {
		e.Fatalf("a busy group left %d events, %v", len(events), err)
	}
	e.commit(update(free, next(free, nil))) // other records are not locked
	release()
	e.commit(g)
	e.has(next(held, nil), written)
}
