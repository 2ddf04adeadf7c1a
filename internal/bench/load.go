//go:build unix

package bench

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// warmUpShare is the share of a round that is run unmeasured before it, to open
// connections, prepare statements and fill caches.
const warmUpShare = 0.2

var namesMade atomic.Uint32

// newName returns a new name. Names are scattered like those of people: sequential names
// would be easier for an index than real ones.
func newName() string {
	const odd = 2654435761 // no two products are equal
	return fmt.Sprintf("name-%08x", namesMade.Add(1)*odd)
}

// run is the result of callers' work.
type run struct {
	took      time.Duration
	latencies []time.Duration // of each call, sorted
	processor float64         // of each call, in microseconds
}

// perSecond returns the calls a second, with the processor time of each.
func (r run) perSecond() reading { return reading{r.rate(), r.processor} }

func (r run) rate() float64 { return float64(len(r.latencies)) / r.took.Seconds() }

// percentile returns the latency in seconds that p percent of the calls did not exceed.
func (r run) percentile(p float64) float64 {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[int(p/100*float64(len(r.latencies)-1))].Seconds()
}

// load lets callers work, each time with a new name, for the length of a round, after a
// warm-up.
func (l *lab) load(c contender, callers int, work func(name string) error) run {
	l.Helper()
	l.work(callers, lasting(time.Duration(float64(l.length)*warmUpShare)), work)
	l.calm()
	var done run
	var processor float64
	l.profiled(c, func() {
		processor = l.metered(c, func() int {
			done = l.work(callers, lasting(l.length), work)
			return len(done.latencies)
		})
	})
	done.processor = processor
	return done
}

// lasting and times limit the work of callers.
func lasting(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return once(func() bool { return time.Now().Before(end) })
}

// once lets work be done once, whatever more says: a busy machine may not get to it in time.
func once(more func() bool) func() bool {
	var begun atomic.Bool
	return func() bool {
		first := !begun.Load() && !begun.Swap(true)
		return first || more()
	}
}

func times(n int) func() bool {
	var done atomic.Int64
	return func() bool { return done.Add(1) <= int64(n) }
}

// work lets callers work until more returns false.
func (l *lab) work(callers int, more func() bool, work func(name string) error) run {
	l.Helper()
	latencies := make([][]time.Duration, callers)
	begin := time.Now()
	err := concurrently(callers, func(caller int) error {
		for more() {
			start := time.Now()
			if err := work(newName()); err != nil {
				return err
			}
			latencies[caller] = append(latencies[caller], time.Since(start))
		}
		return nil
	})
	took := time.Since(begin)
	l.must(err)
	return newRun(took, slices.Concat(latencies...))
}

func newRun(took time.Duration, latencies []time.Duration) run {
	slices.Sort(latencies)
	return run{took: took, latencies: latencies}
}

// concurrently calls fn for each caller concurrently, and returns the error of one that
// failed.
func concurrently(callers int, fn func(caller int) error) error {
	var (
		group  sync.WaitGroup
		failed atomic.Pointer[error]
	)
	for caller := range callers {
		group.Go(func() {
			if err := fn(caller); err != nil {
				failed.Store(&err)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
