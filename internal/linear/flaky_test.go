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
)

// flaky is a store that is reached by a bad line, while there is a storm: calls do not get
// through, or get through late, or their answers are lost.
type flaky struct {
	dibs.Store
	storm  *atomic.Bool
	unsent sync.WaitGroup // what arrives late
}

var _ dibs.Clock = (*flaky)(nil)

// flakyStore puts a bad line in front of a store. What is on its way arrives before the
// test ends.
func flakyStore(tb testing.TB, store dibs.Store, storm *atomic.Bool) *flaky {
	f := &flaky{Store: store, storm: storm}
	tb.Cleanup(f.unsent.Wait)
	return f
}

// Now lets the registry guess, as it does without a line in between.
func (f *flaky) Now() (dibs.Instant, bool) { return f.Store.(dibs.Clock).Now() }

var errLine = errors.New("the line is bad")

// unlucky is one call in three, in a storm.
func (f *flaky) unlucky() bool { return f.storm.Load() && rand.IntN(3) == 0 }

func (f *flaky) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if f.unlucky() {
		return dibs.Snapshots{}, dibs.Unavailable(errLine)
	}
	return f.Store.Load(ctx, refs)
}

func (f *flaky) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	time.Sleep(rand.N(500 * time.Microsecond)) // so that others are faster now and then
	if !f.unlucky() {
		return f.Store.Commit(ctx, groups)
	}
	switch rand.IntN(4) {
	case 0: // it does not get through, and that is known
		return nil, dibs.Unavailable(errLine)
	case 1: // it does not get through
	case 2: // it gets through, the answer does not
		_, _ = f.Store.Commit(ctx, groups)
	case 3: // it gets through long after everybody has given up
		f.unsent.Go(func() {
			time.Sleep(rand.N(100 * time.Millisecond))
			_, _ = f.Store.Commit(context.WithoutCancel(ctx), groups)
		})
	}
	return nil, dibs.OutcomeUnknown(errLine)
}

// blow lets a storm blow for a while.
func blow(storm *atomic.Bool, random *rand.Rand) string {
	storm.Store(true)
	time.Sleep(time.Duration(5+random.IntN(40)) * time.Millisecond)
	storm.Store(false)
	return "storm"
}
