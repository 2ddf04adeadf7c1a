package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// serialStore is an engine that commits one batch after another, in the time that a disk and a
// processor would take. It notes how many records each commit sweeps, and how many it does not.
type serialStore struct {
	dibs.Store
	writing chan struct{} // has an element while no commit is under way

	mu      sync.Mutex
	commits []commitNote
	shared  int // records that a group of a commit wrote and another one read
}

// done returns the commits so far, the last of which may be under way.
func (s *serialStore) done() []commitNote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commits)
}

type commitNote struct{ swept, calls int }

func (n commitNote) took() time.Duration { return perCommit + perRecord*time.Duration(n.swept+n.calls) }

const (
	perCommit = time.Millisecond
	perRecord = 20 * time.Microsecond
)

func newSerialStore() *serialStore {
	s := &serialStore{Store: memstore.New(memstore.Config{}), writing: make(chan struct{}, 1)}
	s.writing <- struct{}{}
	return s
}

func (s *serialStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	<-s.writing
	defer func() { s.writing <- struct{}{} }()
	var note commitNote
	for _, g := range groups {
		switch {
		case len(g.Events) == 0 && !g.Writes[0].Delete: // counters
		case len(g.Events) == 0 || g.Events[0].Kind == dibs.EventExpired && len(g.Events) == 1: // a purge has none
			note.swept++
		default:
			note.calls++
		}
	}
	if note == (commitNote{}) {
		return s.Store.Commit(ctx, groups)
	}
	s.mu.Lock()
	s.commits = append(s.commits, note)
	s.shared += sharedRecords(groups)
	s.mu.Unlock()
	time.Sleep(note.took())
	return s.Store.Commit(ctx, groups)
}

// sharedRecords counts what the contract of Commit excludes.
func sharedRecords(groups []dibs.Group) (shared int) {
	writer := make(map[dibs.Ref]int)
	for i, g := range groups {
		for _, w := range g.Writes {
			writer[w.Record.Ref()] = i
		}
	}
	for i, g := range groups {
		for _, r := range g.Reads {
			if by, written := writer[r.Ref]; written && by != i {
				shared++
			}
		}
	}
	return shared
}

// openLapsed opens a registry with lapsed holds, and forgets the commits so far.
func openLapsed(t *testing.T, holds int) (*dibs.Registry, *serialStore) {
	t.Helper()
	store := newSerialStore()
	reg := coretest.MustOpen(t, store, dibs.Config{})
	for i := 0; i < holds; {
		var commands []dibs.Command
		for ; i < holds && len(commands) < 32; i++ {
			commands = append(commands, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("lapsed-", i), Token: coretest.Token1})
		}
		if _, err := reg.Apply(t.Context(), commands...); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(dibs.DefaultTTL)
	store.mu.Lock()
	defer store.mu.Unlock()
	store.commits = nil
	return reg, store
}

// callAlways keeps callers calling until the returned function is called, which returns how many
// calls they made.
func callAlways(t *testing.T, reg *dibs.Registry, callers int) (stop func() int) {
	t.Helper()
	var group sync.WaitGroup
	var calls atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	for range callers {
		group.Go(func() {
			for ctx.Err() == nil {
				coretest.MustReserve(t, reg, fmt.Sprint("new-", calls.Add(1)))
			}
		})
	}
	return func() int {
		cancel()
		group.Wait()
		return int(calls.Load())
	}
}

// Callers who always call keep 0.7 of the engine's time. They never wait behind more than two commits of
// a sweep alone, which are small, and a commit that a sweep joins takes hardly more than twice as
// long. And the sweep ends.
func TestSweepBesideCallers(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{4, 32, 400} {
		t.Run(fmt.Sprint(callers, " callers"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const lapsed = 3000
				reg, store := openLapsed(t, lapsed)
				stop := callAlways(t, reg, callers)
				if report, err := reg.Sweep(t.Context(), lapsed); err != nil || report.Changed != lapsed {
					t.Errorf("%+v, %v", report, err)
				}
				commits := store.done()
				stop()
				var callersTook, sweepTook time.Duration
				var longest time.Duration // of callers' commits, without what joined
				for _, c := range commits {
					longest = max(longest, commitNote{calls: c.calls}.took())
				}
				largest, inRow, joined := 0, 0, 0
				for _, c := range commits {
					if c.calls == 0 {
						sweepTook += c.took()
						largest = max(largest, c.swept)
						if inRow++; inRow > 2 {
							t.Errorf("%d commits of the sweep in a row", inRow)
						}
						continue
					}
					inRow = 0
					if c.swept > 0 {
						joined++
					}
					alone := commitNote{calls: c.calls}.took()
					callersTook += alone
					sweepTook += c.took() - alone
					if c.took() > longest*5/2 {
						t.Errorf("%d records joined a commit of %d calls", c.swept, c.calls)
					}
				}
				if callersTook < 7*sweepTook/3 {
					t.Errorf("%v for callers, %v for the sweep", callersTook, sweepTook)
				}
				if largest > max(64, callers) || joined == 0 {
					t.Errorf("%d records swept at once beside %d callers, and %d commits joined", largest, callers, joined)
				}
			})
		})
	}
}

// A sweep may join callers who take the very names that it sweeps, and who read the record of the
// namespace that its purges write. It makes progress, and no commit has two groups that share a
// record.
func TestSweepJoinsCallersOfTheSameRecords(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]time.Duration{"lapsed": 0, "to be purged": 60 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lapsed := 500
				if testing.Short() {
					lapsed = 200
				}
				reg, store := openLapsed(t, lapsed)
				time.Sleep(old)
				stop := callAlways(t, reg, 32)
				var takers sync.WaitGroup
				for i := range lapsed / 5 {
					takers.Go(func() { coretest.MustReserve(t, reg, fmt.Sprint("lapsed-", 5*i)) })
				}
				for more := true; more; {
					report, err := reg.Sweep(t.Context(), 100)
					if err != nil {
						t.Fatal(err)
					}
					more = report.More
				}
				takers.Wait()
				stop()
				joined := 0
				for _, c := range store.done() {
					if c.swept > 0 && c.calls > 0 {
						joined++
					}
				}
				if store.shared > 0 || (joined == 0 && old == 0) {
					t.Errorf("%d shared records, %d joined commits", store.shared, joined)
				}
				for i := range lapsed {
					checkSwept(t, reg, fmt.Sprint("lapsed-", i), i%5 == 0, old > 0)
				}
			})
		})
	}
}

// checkSwept checks the history of a hold that is over, whose name may have been taken again since.
func checkSwept(t *testing.T, reg *dibs.Registry, value string, taken, purged bool) {
	t.Helper()
	events, err := reg.History(t.Context(), "slug", value)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []dibs.EventKind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	want := []dibs.EventKind{dibs.EventReserved, dibs.EventExpired, dibs.EventReserved}
	switch {
	case purged && !taken:
		want = nil
	case !taken:
		want = want[:2]
	case purged && len(kinds) == 1:
		want = want[2:] // purged before it was taken
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("%s: %v, want %v", value, kinds, want)
	}
}

// Without calls, a sweep commits many records at once. The first call that comes waits
// for one commit of them, and after it the sweep starts again with few.
func TestSweepWithoutCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lapsed = 8000
		reg, store := openLapsed(t, lapsed)
		done := make(chan error)
		go func() {
			report, err := reg.Sweep(t.Context(), lapsed)
			if report.Changed != lapsed {
				err = fmt.Errorf("%+v, %w", report, err)
			}
			done <- err
		}()
		time.Sleep(lapsed / 2 * perRecord)
		before := len(store.done())
		coretest.MustReserve(t, reg, "new")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c := store.done()
		if c[before-1].swept < 256 || c[before].calls != 1 || c[before+1].swept > 64 {
			t.Errorf("the call came during commit %d of %v", before, c)
		}
		if len(c) > 2*lapsed/512+8 {
			t.Errorf("%d commits for %d records: %v", len(c), lapsed, c)
		}
	})
}

// Calls that come now and then do not stop a sweep.
func TestSweepBesideFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lapsed = 1000
		reg, store := openLapsed(t, lapsed)
		ctx, cancel := context.WithCancel(t.Context())
		var caller sync.WaitGroup
		caller.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				coretest.MustReserve(t, reg, fmt.Sprint("new-", i))
				time.Sleep(perCommit)
			}
		})
		if report, err := reg.Sweep(t.Context(), lapsed); err != nil || report.Changed != lapsed {
			t.Errorf("%+v, %v", report, err)
		}
		commits := len(store.done())
		cancel()
		caller.Wait()
		if commits > lapsed/2 {
			t.Errorf("%d commits until %d records were swept", commits, lapsed)
		}
	})
}

// A sweep that rests ends with its context, and with the registry.
func TestSweepEndsWhileItRests(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(reg *dibs.Registry, cancel func()) error{
		"context":  func(_ *dibs.Registry, cancel func()) error { cancel(); return context.Canceled },
		"registry": func(reg *dibs.Registry, _ func()) error { _ = reg.Close(); return dibs.ErrClosed },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, _ := openLapsed(t, 1000)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stop := callAlways(t, reg, 4)
				done := make(chan error)
				go func() {
					_, err := reg.Sweep(ctx, 1000)
					done <- err
				}()
				time.Sleep(10 * perCommit)
				stop()
				want := end(reg, cancel)
				if err := <-done; !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			})
		})
	}
}
