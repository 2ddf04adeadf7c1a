// Package workload lets many callers use a registry at once, and measures how many calls they
// make, how long each takes, and what became of it. It is the work behind dibs bench.
package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

// Config says what the callers do.
type Config struct {
	Namespace string // of all names
	Callers   int
	For       time.Duration
	Names     int // how many names Load made; resolve and check choose among them
	Mix       Mix
	// Progress is called every second with what has happened since the last call. Nil means no
	// progress.
	Progress func(Progress)
}

// Progress is what happened within about a second.
type Progress struct {
	Elapsed time.Duration
	Done    int
	Took    time.Duration // since the last one
	Failed  int
	P50     time.Duration
	P99     time.Duration
}

// holdTime is how long a hold of this package lasts: what a run leaves behind ends by itself.
const holdTime = time.Minute

// worker is one caller. Only its own goroutine uses it, except for recent.
type worker struct {
	registry *dibs.Registry
	cfg      *Config
	random   *rand.Rand
	run      *run
	number   int
	made     int // how many names it has made

	entity dibs.Entity // whose name it renames; zero until the first rename
	tally  map[Op]*tally
}

// run is what the callers share.
type run struct {
	id     string // differs from every other run, and so do the names it makes
	prize  atomic.Int64
	mu     sync.Mutex
	recent *tally // since the last Progress
}

// Run lets the callers work until the time is over, the context ends, or the registry cannot be
// used at all. Refusals and errors of single calls are counted.
func Run(ctx context.Context, registry *dibs.Registry, cfg Config) (Report, error) {
	if err := cfg.check(); err != nil {
		return Report{}, err
	}
	shared := &run{id: fmt.Sprintf("%08x", rand.Uint32()), recent: newTally()}
	workers := make([]*worker, cfg.Callers)
	for i := range workers {
		workers[i] = &worker{
			registry: registry, cfg: &cfg, run: shared, number: i,
			random: rand.New(rand.NewPCG(uint64(i), rand.Uint64())), tally: make(map[Op]*tally),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.For)
	defer cancel()
	processor := processorTime()
	start := time.Now()
	var callers, reporting sync.WaitGroup
	for _, w := range workers {
		callers.Go(func() { w.work(ctx) })
	}
	over := make(chan struct{})
	if cfg.Progress != nil {
		reporting.Go(func() { shared.report(start, cfg.Progress, over) })
	}
	callers.Wait()
	took := time.Since(start)
	close(over)
	reporting.Wait()
	return newReport(&cfg, workers, took, processorTime()-processor), nil
}

func (c *Config) check() error {
	switch {
	case c.Callers < 1:
		return fmt.Errorf("there must be at least one caller, not %d", c.Callers)
	case c.For <= 0:
		return fmt.Errorf("the time must be positive, not %v", c.For)
	case c.Mix.needsNames() && c.Names < 1:
		return errors.New("resolve and check choose among the names of a load: say how many there are")
	}
	return c.Mix.check()
}

// work makes calls until the context ends. A call that the end of the run interrupts does not
// count.
func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		op := w.cfg.Mix.choose(w.random)
		start := time.Now()
		err := ops[op](w, ctx)
		if ctx.Err() != nil {
			return
		}
		w.note(op, time.Since(start), err)
	}
}

func (w *worker) note(op Op, took time.Duration, err error) {
	t := w.tally[op]
	if t == nil {
		t = newTally()
		w.tally[op] = t
	}
	t.add(took, err)
	if w.cfg.Progress != nil {
		w.run.mu.Lock()
		w.run.recent.add(took, err)
		w.run.mu.Unlock()
	}
}

// report calls progress every second.
func (r *run) report(start time.Time, progress func(Progress), over <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := start
	for {
		select {
		case <-over:
			return
		case now := <-tick.C:
			r.mu.Lock()
			t := r.recent
			r.recent = newTally()
			r.mu.Unlock()
			progress(Progress{
				Elapsed: now.Sub(start), Took: now.Sub(last), Done: t.done(), Failed: t.failed(),
				P50: t.percentile(50), P99: t.percentile(99),
			})
			last = now
		}
	}
}

// newName returns a name that no call has used.
func (w *worker) newName() string {
	w.made++
	return fmt.Sprintf("run-%s-%d-%d", w.run.id, w.number, w.made)
}

// LoadedName returns the i-th name of a load. The names are scattered like those of people:
// sequential ones would be easier for an index.
func LoadedName(i int) string {
	const odd = 2654435761 // no two products are equal
	return fmt.Sprintf("name-%08x", uint32(i)*odd)
}

// MaxNames is how many different names a load can make.
const MaxNames = 1 << 32

// LoadedEntity returns the owner of the i-th name of a load.
func LoadedEntity(i int) dibs.Entity { return dibs.Entity{Type: "bench", ID: fmt.Sprint(i)} }

// Load claims the first n names of the key space for entities of their own. Names that an
// earlier load has claimed stay as they are, so an interrupted load can be begun again.
func Load(ctx context.Context, registry *dibs.Registry, cfg Config, n int) error {
	return LoadMore(ctx, registry, cfg, 0, n)
}

// LoadMore continues a load that has claimed the first names: it claims those from index from
// to index n, exclusively.
func LoadMore(ctx context.Context, registry *dibs.Registry, cfg Config, from, n int) error {
	if n < 1 || n > MaxNames {
		return fmt.Errorf("a load has 1 to %d names, not %d", MaxNames, n)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shared := &run{recent: newTally()}
	var (
		next      atomic.Int64
		callers   sync.WaitGroup
		reporting sync.WaitGroup
		over      = make(chan struct{})
		start     = time.Now()
	)
	next.Store(int64(from))
	if cfg.Progress != nil {
		reporting.Go(func() { shared.report(start, cfg.Progress, over) })
	}
	for range max(cfg.Callers, runtime.GOMAXPROCS(0)) {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				began := time.Now()
				_, err := registry.Claim(ctx, dibs.Claim{Namespace: cfg.Namespace, Value: LoadedName(i), Entity: LoadedEntity(i)})
				if err != nil {
					cancel(fmt.Errorf("name %d of %d: %w", i+1, n, err))
					return
				}
				shared.mu.Lock()
				shared.recent.add(time.Since(began), nil)
				shared.mu.Unlock()
			}
		})
	}
	callers.Wait()
	close(over)
	reporting.Wait()
	return context.Cause(ctx)
}
