//go:build unix

package linear_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/lineartest"
	"github.com/calldibs/dibs/memstore"
)

// flaky is a store behind a bad network while faulty is set: calls do not arrive, arrive
// late, or their answers are lost.
type flaky struct {
	dibs.Store
	faulty *atomic.Bool
	unsent sync.WaitGroup // calls that arrive late
}

var _ dibs.Clock = (*flaky)(nil)

// flakyStore puts a bad network in front of a store. Late calls arrive before the test
// ends.
func flakyStore(tb testing.TB, store dibs.Store, faulty *atomic.Bool) *flaky {
	f := &flaky{Store: store, faulty: faulty}
	tb.Cleanup(f.unsent.Wait)
	return f
}

// Now lets the registry guess, as it does without the network.
func (f *flaky) Now() (dibs.Instant, bool) { return f.Store.(dibs.Clock).Now() }

var errNetwork = errors.New("bad network")

// unlucky selects one call in three while the network is faulty.
func (f *flaky) unlucky() bool { return f.faulty.Load() && rand.IntN(3) == 0 }

func (f *flaky) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if f.unlucky() {
		return dibs.LoadResult{}, dibs.Unavailable(errNetwork)
	}
	return f.Store.Load(ctx, refs)
}

func (f *flaky) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	time.Sleep(rand.N(500 * time.Microsecond)) // so that other commits are sometimes faster
	if !f.unlucky() {
		return f.Store.Commit(ctx, groups)
	}
	switch rand.IntN(4) {
	case 0: // it does not arrive, and the caller knows
		return nil, dibs.Unavailable(errNetwork)
	case 1: // it does not arrive
	case 2: // it arrives, the answer does not
		_, _ = f.Store.Commit(ctx, groups)
	case 3: // it arrives long after the caller has given up
		f.unsent.Go(func() {
			time.Sleep(rand.N(100 * time.Millisecond))
			_, _ = f.Store.Commit(context.WithoutCancel(ctx), groups)
		})
	}
	return nil, dibs.OutcomeUnknown(errNetwork)
}

// disturb makes the network faulty for a while.
func disturb(faulty *atomic.Bool, random *rand.Rand) string {
	faulty.Store(true)
	time.Sleep(time.Duration(5+random.IntN(40)) * time.Millisecond)
	faulty.Store(false)
	return "faulty"
}

// Several registries on one store in memory, behind a bad network: every violation here is
// an error of the registry.
func TestHistoriesInMemory(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	faulty := new(atomic.Bool)
	var regs []*dibs.Registry
	for range 3 {
		regs = append(regs, registry(t, flakyStore(t, store, faulty)))
	}
	lineartest.Run(t, "in memory", linear.Site{
		Registries: regs, Patience: time.Second, Concurrent: 16,
		Fault: func(random *rand.Rand) string { return disturb(faulty, random) },
	}, lineartest.Count(t, 48))
}
