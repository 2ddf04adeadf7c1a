package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/calldibs/dibs"
)

// Site is what histories run on.
type Site struct {
	// Registries are what callers use: each with its own store on the same data, as in
	// separate processes. Open them with [Config].
	Registries []*dibs.Registry
	// Patience is how long a caller waits for one answer.
	Patience time.Duration
	// Fault injects one fault into the engine and undoes it. It is called repeatedly
	// while histories run, and returns what it did, or "" if it did nothing. Nil means
	// no faults.
	Fault func(random *rand.Rand) string
	// Short makes holds short in all histories instead of one in four.
	Short bool
	// Concurrent is how many histories run at a time. Zero means 4.
	Concurrent int
}

// Report is the result of a campaign.
type Report struct {
	Histories   int
	Disturbed   int // histories during which a fault was injected
	Operations  int
	Unavailable int // operations that returned UNAVAILABLE
	Unknown     int // operations with an unknown outcome
	Faults      map[string]int
	Violations  []string // histories that are not linearizable: each with its seed, its operations and the file of its drawing
	Took        time.Duration
}

// String formats all figures in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d histories, %d with faults; %d operations, and %d unavailable; %d with an unknown outcome; faults %v; %v",
		r.Histories, r.Disturbed, r.Operations, r.Unavailable, r.Unknown, r.Faults, r.Took.Round(time.Millisecond))
}

// Count is how many histories a test runs: HISTORIES of the environment, or few.
func Count(tb testing.TB, few int) int {
	tb.Helper()
	if text := os.Getenv("HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatalf("HISTORIES is %q: want a number", text)
		}
		return n
	}
	if testing.Short() {
		return max(1, few/6)
	}
	return few
}

// Run runs histories on a site, injects faults meanwhile, and fails the test if one of the
// histories is not linearizable.
func Run(tb testing.TB, site Site, histories int) Report {
	tb.Helper()
	report := run(&site, histories, uint64(time.Now().UnixNano()))
	for _, wrong := range report.Violations {
		tb.Error(wrong)
	}
	tb.Log(report)
	return report
}

// campaign runs many histories on one site.
type campaign struct {
	site *Site
	seed uint64

	faults atomic.Int64 // faults that have begun
	faulty atomic.Bool  // a fault is active

	mu     sync.Mutex
	report Report
}

func run(site *Site, histories int, seed uint64) Report {
	c := &campaign{site: site, seed: seed, report: Report{Faults: make(map[string]int)}}
	began := time.Now()
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.runAll(histories)
	}()
	c.injectFaults(over)
	c.report.Took = time.Since(began)
	return c.report
}

func (c *campaign) runAll(histories int) {
	var next atomic.Int64
	var workers sync.WaitGroup
	concurrent := c.site.Concurrent
	if concurrent == 0 {
		concurrent = 4
	}
	for range concurrent {
		workers.Go(func() {
			for n := next.Add(1); n <= int64(histories); n = next.Add(1) {
				p := newPlan(c.seed + uint64(n))
				p.lapses = p.lapses || c.site.Short
				c.one(p)
			}
		})
	}
	workers.Wait()
}

// injectFaults injects one fault after the other, with short pauses in between, until all
// histories are over. It runs on the test's own goroutine, which may call Fatal.
func (c *campaign) injectFaults(over <-chan struct{}) {
	random := rand.New(rand.NewPCG(c.seed, 0))
	for c.site.Fault != nil {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(random.IntN(100)) * time.Millisecond):
		}
		c.faults.Add(1)
		c.faulty.Store(true)
		what := c.site.Fault(random)
		c.faulty.Store(false)
		if what != "" {
			c.report.Faults[what]++
		}
	}
	<-over
}

// mostWaiting is how long a history may take while the engine is unreachable.
const mostWaiting = 3 * time.Minute

func (c *campaign) one(p plan) {
	ctx, cancel := context.WithTimeout(context.Background(), mostWaiting)
	defer cancel()
	h := &history{plan: p, site: c.site}
	before, disturbed := c.faults.Load(), c.faulty.Load()
	h.run(ctx)
	disturbed = disturbed || c.faults.Load() != before
	verdict := h.check()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Histories++
	if disturbed {
		c.report.Disturbed++
	}
	c.report.Operations += len(h.done)
	c.report.Unavailable += h.nothing
	c.report.Unknown += h.lost
	switch {
	case h.failed != nil:
		c.wrong("seed %d: %v", p.seed, h.failed)
	case ctx.Err() != nil:
		c.wrong("seed %d: the engine does not recover", p.seed)
	case verdict != porcupine.Ok:
		c.wrong("seed %d: %s\n%s", p.seed, verdict, h.explain())
	}
}

func (c *campaign) wrong(format string, args ...any) {
	c.report.Violations = append(c.report.Violations, fmt.Sprintf(format, args...))
}

// explain lists the operations of a history that is not linearizable, and draws it.
func (h *history) explain() string {
	operations := h.operations()
	slices.SortFunc(operations, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	fmt.Fprintf(&text, "%+v\n", h.plan)
	for _, o := range operations {
		fmt.Fprintf(&text, "%9.3f ms to %9.3f ms  client %d  %v: %v\n",
			float64(o.Call)/1e6, float64(o.Return)/1e6, o.ClientId, o.Input, o.Output)
	}
	_, info := porcupine.CheckOperationsVerbose(model(h.apart, h.quarantine), operations, mostChecking)
	file, err := os.CreateTemp("", "dibs-history-*.html")
	if err != nil {
		return text.String() + err.Error()
	}
	defer file.Close()
	if err := porcupine.Visualize(model(h.apart, h.quarantine), info, file); err != nil {
		return text.String() + err.Error()
	}
	return text.String() + "drawing: " + file.Name()
}
