//go:build unix

package bench

import (
	"context"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/figures"
)

const (
	// shortHold is the shortest hold that the default policy allows.
	shortHold = dibs.DefaultMinTTL

	// arrivalEvery is the interval of reserves during a sweep: a load that every engine carries
	// easily, so that only the sweep can delay it.
	arrivalEvery = time.Millisecond
)

// sweepLapsedHolds is G4: how fast lapsed holds are swept, and how much that delays
// concurrent reserves.
func sweepLapsedHolds(l *lab) []row {
	rows := l.sweepOn("PostgreSQL", dibsOnPostgres)
	return append(rows, l.sweepOn("SQLite", dibsOnSQLite)...)
}

func (l *lab) sweepOn(engine string, open func(*lab) contender) []row {
	l.Helper()
	var alone, during, quiet, swept sample
	for range l.rounds {
		r := open(l).(*registry)

		l.letLapse(r, 2*l.lapsed) // for two sweeps

		l.calm()
		l.profiled(r, func() { alone = append(alone, l.sweep(r)) })

		l.calm()
		quiet = append(quiet, l.steadily(r, func() { time.Sleep(l.length) }).percentile(99))
		swept = append(swept, l.steadily(r, func() { during = append(during, l.sweep(r)) }).percentile(99))

		r.close()
	}
	return []row{
		{what: "sweep of lapsed holds on " + engine, unit: figures.PerSecond, ours: figuresOf(alone...), want: atLeast(50_000)},
		{what: "the same during reserves on " + engine, unit: figures.PerSecond, ours: figuresOf(during...)},
		{what: "reserve during a sweep on " + engine + ", p99", unit: figures.Seconds, ours: figuresOf(swept...), against: peer{is: "the same without a sweep"}, peer: figuresOf(quiet...), want: atMost(2)},
	}
}

// letLapse makes holds and waits until they lapse, by the engine's real clock.
func (l *lab) letLapse(r *registry, holds int) {
	l.Helper()
	l.work(manyCallers, times(holds), func(name string) error {
		_, err := r.Reserve(context.Background(), dibs.Reserve{Namespace: namespace, Value: name, TTL: dibs.For(shortHold)})
		return err
	})
	time.Sleep(shortHold + 100*time.Millisecond)
}

// sweep sweeps half of the lapsed holds and returns the rate per second.
func (l *lab) sweep(r *registry) float64 {
	l.Helper()
	begin := time.Now()
	for left := l.lapsed; left > 0; {
		report, err := r.Sweep(l.Context(), left)
		l.must(err)
		if report.Changed == 0 {
			l.Fatalf("%d of %d lapsed holds were not swept", left, l.lapsed)
		}
		left -= report.Changed
	}
	return float64(l.lapsed) / time.Since(begin).Seconds()
}

// steadily starts reserves at a steady pace while meanwhile runs. Each starts whether or not
// those before it have an answer: a caller that waits for its answer before the next call
// would hide how long others wait.
func (l *lab) steadily(c contender, meanwhile func()) run {
	l.Helper()
	ctx, done := context.WithCancel(l.Context())
	begin := time.Now()
	var (
		latencies []time.Duration
		err       error
		arrivals  sync.WaitGroup
	)
	arrivals.Go(func() { latencies, err = arrive(ctx, reserveFree(c)) })
	meanwhile()
	done()
	arrivals.Wait()
	l.must(err)
	return newRun(time.Since(begin), latencies)
}

// arrive starts a call at each due time until the context ends, and returns the latencies.
func arrive(ctx context.Context, work func(name string) error) ([]time.Duration, error) {
	var (
		group     sync.WaitGroup
		mu        sync.Mutex
		latencies []time.Duration
		failed    error
	)
	more := once(func() bool { return ctx.Err() == nil })
	for due := time.Now(); more(); due = due.Add(arrivalEvery) {
		time.Sleep(time.Until(due))
		group.Go(func() {
			start := time.Now()
			err := work(newName())
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, took)
			if err != nil {
				failed = err
			}
		})
	}
	group.Wait()
	return latencies, failed
}
