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

// Site is where histories take place.
type Site struct {
	// Registries are those that callers ask: each with a store of its own on the same
	// data, as in processes of their own. Open them with [Config].
	Registries []*dibs.Registry
	// Patience is how long a caller waits for one answer.
	Patience time.Duration
	// Harm does harm to the engine, and undoes it. It is called again and again while
	// histories take place, and returns what it did; nothing if it left it at that. Nil
	// means that nothing goes wrong.
	Harm func(random *rand.Rand) string
	// Short says that holds are short in all histories, and not in one of four.
	Short bool
	// AtOnce is how many histories take place at a time. Zero means 4.
	AtOnce int
}

// Report is what a campaign came to.
type Report struct {
	Histories  int
	Disturbed  int // histories in which there was harm under way
	Operations int
	Nothing    int // operations that were UNAVAILABLE
	Unknown    int // operations of unknown outcome
	Harm       map[string]int
	Wrong      []string // what cannot be explained: each with its seed, its history and where it is drawn
	Took       time.Duration
}

// String is a line with all figures.
func (r Report) String() string {
	return fmt.Sprintf("%d histories, %d of them disturbed; %d operations, besides %d unavailable; %d of unknown outcome; harm %v; %v",
		r.Histories, r.Disturbed, r.Operations, r.Nothing, r.Unknown, r.Harm, r.Took.Round(time.Millisecond))
}

// Count is how many histories a test is to run: HISTORIES of the environment, or else a few.
func Count(tb testing.TB, few int) int {
	tb.Helper()
	if text := os.Getenv("HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatalf("HISTORIES is %q: say how many histories there are to be", text)
		}
		return n
	}
	if testing.Short() {
		return max(1, few/6)
	}
	return few
}

// Run runs so many histories on a site, does harm meanwhile, and fails the test if one of
// them cannot be explained.
func Run(tb testing.TB, site Site, histories int) Report {
	tb.Helper()
	report := run(&site, histories, uint64(time.Now().UnixNano()))
	for _, wrong := range report.Wrong {
		tb.Error(wrong)
	}
	tb.Log(report)
	return report
}

// campaign is many histories on one site.
type campaign struct {
	site *Site
	seed uint64

	harmed atomic.Int64 // how often harm has begun
	harm   atomic.Bool  // it is under way

	mu     sync.Mutex
	report Report
}

func run(site *Site, histories int, seed uint64) Report {
	c := &campaign{site: site, seed: seed, report: Report{Harm: make(map[string]int)}}
	began := time.Now()
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.runAll(histories)
	}()
	c.doHarm(over)
	c.report.Took = time.Since(began)
	return c.report
}

func (c *campaign) runAll(histories int) {
	var next atomic.Int64
	var workers sync.WaitGroup
	atOnce := c.site.AtOnce
	if atOnce == 0 {
		atOnce = 4
	}
	for range atOnce {
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

// doHarm does harm, one after the other with a little peace in between, until all
// histories are over. It is done by the test's own goroutine, which may fail.
func (c *campaign) doHarm(over <-chan struct{}) {
	random := rand.New(rand.NewPCG(c.seed, 0))
	for c.site.Harm != nil {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(random.IntN(100)) * time.Millisecond):
		}
		c.harmed.Add(1)
		c.harm.Store(true)
		what := c.site.Harm(random)
		c.harm.Store(false)
		if what != "" {
			c.report.Harm[what]++
		}
	}
	<-over
}

// mostWaiting is how long a history may take, with an engine that is out of reach.
const mostWaiting = 3 * time.Minute

func (c *campaign) one(p plan) {
	ctx, cancel := context.WithTimeout(context.Background(), mostWaiting)
	defer cancel()
	h := &history{plan: p, site: c.site}
	before, disturbed := c.harmed.Load(), c.harm.Load()
	h.run(ctx)
	disturbed = disturbed || c.harmed.Load() != before
	verdict := h.check()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Histories++
	if disturbed {
		c.report.Disturbed++
	}
	c.report.Operations += len(h.done)
	c.report.Nothing += h.nothing
	c.report.Unknown += h.lost
	switch {
	case h.failed != nil:
		c.wrong("seed %d: %v", p.seed, h.failed)
	case ctx.Err() != nil:
		c.wrong("seed %d: the engine does not come back", p.seed)
	case verdict != porcupine.Ok:
		c.wrong("seed %d: %s\n%s", p.seed, verdict, h.explain())
	}
}

func (c *campaign) wrong(format string, args ...any) {
	c.report.Wrong = append(c.report.Wrong, fmt.Sprintf(format, args...))
}

// explain tells what happened in a history that has no explanation, and draws it.
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
	return text.String() + "drawn in " + file.Name()
}
