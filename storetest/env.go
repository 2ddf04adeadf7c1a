package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// env is what a case works with: a fresh store, its clock, and checks that stop
// the case when the store breaks the contract. Its methods are for the case's own
// goroutine; other goroutines use the functions below, which return errors.
type env struct {
	testing.TB
	ids     string // the musts that the case proves
	harness Harness
	clock   *Clock
	store   dibs.Store
	// patience is how long a call may take that must not wait for another transaction.
	patience time.Duration
}

// Fatalf stops the case. The message begins with the ids of the musts.
func (e *env) Fatalf(format string, args ...any) {
	e.Helper()
	e.TB.Fatalf("%s: %s", e.ids, fmt.Sprintf(format, args...))
}

// Logf writes to the log. The message begins with the ids of the musts.
func (e *env) Logf(format string, args ...any) {
	e.Helper()
	e.TB.Logf("%s: %s", e.ids, fmt.Sprintf(format, args...))
}

// closing closes a store at the end of the case.
func (e *env) closing(store dibs.Store) dibs.Store {
	e.Cleanup(func() { _ = store.Close() }) // Close has cases of its own
	return store
}

// handles returns the store, and a second handle on its data if the engine can
// have one.
func (e *env) handles() []dibs.Store {
	if e.harness.Share == nil {
		return []dibs.Store{e.store}
	}
	return []dibs.Store{e.store, e.closing(e.harness.Share(e.TB, e.store, e.clock))}
}

// now returns the clock's time as the engine should see it.
func (e *env) now() dibs.Instant { return dibs.InstantOf(e.clock.Now()) }

// attempt commits groups and returns the outcome of each.
func (e *env) attempt(groups ...dibs.Group) []dibs.Outcome {
	e.Helper()
	outcomes, err := e.store.Commit(e.Context(), groups)
	if err != nil {
		e.Fatalf("Commit: %v", err)
	}
	if len(outcomes) != len(groups) {
		e.Fatalf("Commit returned %d outcomes for %d groups", len(outcomes), len(groups))
	}
	return outcomes
}

// commit commits groups that must not be stale.
func (e *env) commit(groups ...dibs.Group) {
	e.Helper()
	if e.harness.Apart {
		groups = apart(groups)
	}
	for i, outcome := range e.attempt(groups...) {
		if outcome != dibs.Committed {
			e.Fatalf("group %d of %d is stale, although no record it read has changed", i+1, len(groups))
		}
	}
}

// stale demands that a group is stale.
func (e *env) stale(why string, group dibs.Group) {
	e.Helper()
	if e.attempt(group)[0] != dibs.Stale {
		e.Fatalf("%s: the group was committed, it must be stale", why)
	}
}

// load returns the records that exist among refs.
func (e *env) load(refs ...dibs.Ref) map[dibs.Ref]dibs.Record {
	e.Helper()
	found, err := loadAll(e.Context(), e.store, refs...)
	if err != nil {
		e.Fatalf("%v", err)
	}
	return found
}

// has demands that exactly these records are stored.
func (e *env) has(records ...dibs.Record) {
	e.Helper()
	found := e.load(refsOf(records...)...)
	for _, want := range records {
		got, ok := found[want.Ref()]
		if !ok {
			e.Fatalf("%s is absent, it was committed with revision %d", describe(want), want.Revision())
		}
		if d := diff(got, want); d != "" {
			e.Fatalf("%s is not what was committed: %s", describe(want), d)
		}
	}
}

// lacks demands that records are absent.
func (e *env) lacks(records ...dibs.Record) {
	e.Helper()
	for _, record := range e.load(refsOf(records...)...) {
		e.Fatalf("%s exists with revision %d, it must be absent", describe(record), record.Revision())
	}
}

// loadAll loads refs and returns the records by ref. It returns an error for
// records that were not requested, and for different answers to one ref.
func loadAll(ctx context.Context, store dibs.Store, refs ...dibs.Ref) (map[dibs.Ref]dibs.Record, error) {
	snapshots, err := store.Load(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("Load: %w", err)
	}
	asked := make(map[dibs.Ref]bool, len(refs))
	for _, ref := range refs {
		asked[ref] = true
	}
	found := make(map[dibs.Ref]dibs.Record, len(refs))
	for _, record := range snapshots.Records {
		ref := record.Ref()
		if !asked[ref] {
			return nil, fmt.Errorf("Load returned %s, which was not requested", describe(record))
		}
		if former, ok := found[ref]; ok {
			if d := diff(record, former); d != "" {
				return nil, fmt.Errorf("Load returned %s twice, with differences: %s", describe(record), d)
			}
		}
		found[ref] = record
	}
	return found, nil
}

// commitOne commits one group and returns its outcome.
func commitOne(ctx context.Context, store dibs.Store, group dibs.Group) (dibs.Outcome, error) {
	outcomes, err := store.Commit(ctx, []dibs.Group{group})
	if err != nil {
		return dibs.Stale, fmt.Errorf("Commit: %w", err)
	}
	if len(outcomes) != 1 {
		return dibs.Stale, fmt.Errorf("Commit returned %d outcomes for one group", len(outcomes))
	}
	return outcomes[0], nil
}

// mustCommit commits a group that must not be stale.
func mustCommit(ctx context.Context, store dibs.Store, group dibs.Group) error {
	outcome, err := commitOne(ctx, store, group)
	if err == nil && outcome != dibs.Committed {
		err = errors.New("a group is stale, although no record it read has changed")
	}
	return err
}

// together runs n functions concurrently and stops the case at the first error.
func (e *env) together(n int, work func(i int) error) {
	e.Helper()
	if err := together(n, work); err != nil {
		e.Fatalf("%v", err)
	}
}

// together runs n functions concurrently, waits for all and returns the first error.
func together(n int, work func(i int) error) error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = work(i)
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// whileWriting calls write and read repeatedly and concurrently, until both have
// been called often enough to overlap. Each gets the number of its earlier calls.
func (e *env) whileWriting(write, read func(round int) error) {
	e.Helper()
	const enough = 60
	var rounds [2]atomic.Int64
	var failed atomic.Bool
	e.together(2, func(i int) error {
		work := []func(int) error{write, read}[i]
		for rounds[0].Load() < enough || rounds[1].Load() < enough {
			if failed.Load() {
				return nil
			}
			if err := work(int(rounds[i].Load())); err != nil {
				failed.Store(true)
				return err
			}
			rounds[i].Add(1)
		}
		return nil
	})
}
