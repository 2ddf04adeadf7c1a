package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// lockedNames returns names to lock.
func lockedNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("locked-", i)
	}
	return names
}

// lock reserves names in a caller's transaction, which stays open.
func lock(tb testing.TB, reg *dibs.Registry, at place, names ...string) pgx.Tx {
	tb.Helper()
	tx := begin(tb, at)
	inside := pgstore.WithTx(reg, tx)
	for _, name := range names {
		if _, err := inside.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: name}); err != nil {
			tb.Fatal(err)
		}
	}
	return tx
}

// crowd is callers that reserve names without conflicts, without pause.
type crowd struct {
	latencies

	stopped atomic.Bool
	ended   chan struct{}
}

func startCrowd(tb testing.TB, reg *dibs.Registry, callers int) *crowd {
	tb.Helper()
	c := &crowd{ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		each(callers, func(caller int) {
			for i := 0; !c.stopped.Load(); i++ {
				begin := time.Now()
				_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("free-%p-%d-%d", c, caller, i)})
				if err != nil {
					tb.Errorf("a name without conflict: %v", err)
				}
				c.add(time.Since(begin))
			}
		})
	}()
	return c
}

func (c *crowd) stop() {
	c.stopped.Store(true)
	<-c.ended
}

// maxDelay is the median of other names while a name is locked; on a slow machine it may be three
// times the median without locks. A batch that waits for a lock takes LockWait, 20 ms.
const maxDelay = 15 * time.Millisecond

// delayed compares the latencies with those without locks.
func (c *crowd) delayed(tb testing.TB, unlocked *crowd) (problems []string) {
	tb.Helper()
	before, p50 := unlocked.percentile(50), c.percentile(50)
	tb.Logf("other names: %d reserved; p50 %v (%v without locks), p99 %v, at most %v", c.count(), p50, before, c.percentile(99), c.percentile(100))
	if p50 > max(maxDelay, 3*before) {
		problems = append(problems, fmt.Sprintf("the median of other names is %v, want %v at most", p50, max(maxDelay, 3*before)))
	}
	return problems
}

const shortDeadline = 300 * time.Millisecond

// lockedCallers are callers that ask for locked names with a short deadline.
type lockedCallers struct {
	latencies

	deadline time.Duration

	unknown atomic.Int64 // unknown outcomes
}

func (a *lockedCallers) ask(tb testing.TB, reg *dibs.Registry, name string, stopped *atomic.Bool) {
	for !stopped.Load() {
		begin := time.Now()
		err := reserveWithin(reg, a.deadline, name)
		a.add(time.Since(begin))
		switch {
		case errors.Is(err, dibs.ErrUnavailable):
		case errors.Is(err, dibs.ErrOutcomeUnknown):
			a.unknown.Add(1)
		default:
			tb.Errorf("%s is locked, and the answer is %v", name, err)
		}
	}
}

// late says which answers did not come in time, or were not UNAVAILABLE. On a slow machine a few
// outcomes may be unknown.
func (a *lockedCallers) late(tb testing.TB) (problems []string) {
	tb.Helper()
	n, unknown, median := a.count(), a.unknown.Load(), a.percentile(50)
	tb.Logf("locked names: %d answers, half of them after %v, the slowest after %v; %d unknown outcomes", n, median, a.percentile(100), unknown)
	if median > 2*a.deadline {
		problems = append(problems, fmt.Sprintf("half of the answers took %v, the deadline was %v", median, a.deadline))
	}
	if int(unknown) > n/10 {
		problems = append(problems, fmt.Sprintf("%d of %d outcomes are unknown", unknown, n))
	}
	return problems
}

func reserveWithin(reg *dibs.Registry, deadline time.Duration, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: name})
	return err
}

// A caller's transaction keeps names locked for long. Commands for other names are not delayed, and
// those for locked names are answered in time.
func TestLockedNamesDelayNoOthers(t *testing.T) {
	for _, locked := range usually([]int{5}, []int{1, 5, 20}) {
		t.Run(fmt.Sprint(locked), func(t *testing.T) {
			at := ownSchema(t)
			reg := registry(t, at, dibs.Config{Suggestions: -1})
			var problems []string
			for attempt := range 3 { // the machine may be busy with something else
				if problems = delaysByLocks(t, reg, at, locked); len(problems) == 0 {
					break
				}
				t.Logf("attempt %d: %v", attempt, problems)
			}
			for _, problem := range problems {
				t.Error(problem)
			}
			feed := readFeed(t, reg)
			for _, name := range lockedNames(locked) {
				if kinds := feed.kinds[name]; len(kinds) > 0 {
					t.Errorf("%s was rolled back, and the feed has %v", name, kinds)
				}
			}
		})
	}
}

// delaysByLocks compares latencies before and while names are locked. All answers come before the locks
// end.
func delaysByLocks(t *testing.T, reg *dibs.Registry, at place, locked int) (problems []string) {
	t.Helper()
	const enough, answers = 1000, 20
	unlocked := startCrowd(t, reg, callers)
	await(t, "there are latencies to compare with", func() bool { return unlocked.count() >= enough })
	unlocked.stop()

	names := lockedNames(locked)
	tx := lock(t, reg, at, names...)
	var (
		stopped atomic.Bool
		asking  = lockedCallers{deadline: max(shortDeadline, 5*unlocked.percentile(99))} // of a slow machine
		ended   = make(chan struct{})
	)
	others := startCrowd(t, reg, callers)
	go func() {
		defer close(ended)
		each(max(8, 2*locked), func(i int) { asking.ask(t, reg, names[i%locked], &stopped) })
	}()
	await(t, "calls are answered", func() bool {
		return others.count() >= usually(enough, 5*enough) && asking.count() >= usually(answers, 5*answers)
	})
	stopped.Store(true)
	others.stop()
	<-ended
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	return append(others.delayed(t, unlocked), asking.late(t)...)
}
