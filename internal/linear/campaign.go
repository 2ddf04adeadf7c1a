package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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
	// Jumps is how far the engine's clock may jump and be wrong, ahead and back. No hold is short
	// then: it might end twice. Zero means that it does not jump.
	Jumps time.Duration
	// Concurrent is how many histories run at a time. Zero means 4.
	Concurrent int
	// Scope is the scope above those of the histories. Empty means none.
	Scope string
	// Finished gets what the callers of each history know when it is over. It may be
	// called concurrently. Nil means nothing.
	Finished func(Finished)
}

// Options say how many histories run, and what happens to their results.
type Options struct {
	// Histories is how many histories run. Zero means no limit.
	Histories int
	// For is how long new histories begin. Zero means no limit.
	For time.Duration
	// Seed decides what callers do. Each history has a seed of its own: the campaign's plus
	// its number, from 1.
	Seed uint64
	// Trace finds out how unknown outcomes ended, which takes two more checks for each.
	Trace bool
	// Pictures is the folder for pictures of violations. Empty means that of temporary files.
	Pictures string
	// Progress gets the report so far after each history. Nil means none.
	Progress func(Report)
}

// campaign runs many histories on one site.
type campaign struct {
	Options
	site *Site

	faults atomic.Int64 // faults that have begun
	faulty atomic.Bool  // a fault is active

	mu     sync.Mutex
	report Report
}

// Run runs histories on a site, injects faults meanwhile, and checks each history. It begins
// no more histories when ctx has ended. Fault runs on the caller's goroutine.
func Run(ctx context.Context, site Site, options Options) Report {
	if options.For > 0 {
		limited, cancel := context.WithTimeout(ctx, options.For)
		defer cancel()
		ctx = limited
	}
	c := &campaign{Options: options, site: &site, report: Report{Faults: make(map[string]int)}}
	began := time.Now()
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.runAll(ctx)
	}()
	c.injectFaults(over)
	c.report.Took = time.Since(began)
	return c.report
}

func (c *campaign) runAll(ctx context.Context) {
	var next atomic.Int64
	var workers sync.WaitGroup
	concurrent := c.site.Concurrent
	if concurrent == 0 {
		concurrent = 4
	}
	for range concurrent {
		workers.Go(func() {
			for n := next.Add(1); ctx.Err() == nil && (c.Histories == 0 || n <= int64(c.Histories)); n = next.Add(1) {
				p := newPlan(c.Seed + uint64(n))
				p.above = c.site.Scope
				p.jumps = c.site.Jumps
				p.lapses = (p.lapses || c.site.Short) && p.jumps == 0
				c.one(p)
			}
		})
	}
	workers.Wait()
}

// injectFaults injects one fault after the other, with short pauses in between, until all
// histories are over. It runs on the test's own goroutine, which may call Fatal.
func (c *campaign) injectFaults(over <-chan struct{}) {
	random := rand.New(rand.NewPCG(c.Seed, 0))
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
			c.mu.Lock()
			c.report.Faults[what]++
			c.mu.Unlock()
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
	if c.site.Finished != nil {
		c.site.Finished(h.finished())
	}
	wrong := c.judge(ctx, h)
	ended := Outcomes{Unclear: h.lost}
	if c.Trace && wrong == nil {
		ended = h.trace()
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Histories++
	if disturbed {
		c.report.Disturbed++
	}
	c.report.Operations += len(h.done)
	c.report.Unavailable += h.nothing
	c.report.Unknown += h.lost
	c.report.Ended.add(ended)
	if wrong != nil {
		c.report.Violations = append(c.report.Violations, *wrong)
	}
	if c.Progress != nil {
		c.Progress(c.report.clone())
	}
}

// judge returns what is wrong with a history, or nil.
func (c *campaign) judge(ctx context.Context, h *history) *Violation {
	verdict := h.check()
	switch {
	case h.failed != nil:
		return &Violation{Seed: h.seed, What: h.failed.Error()}
	case ctx.Err() != nil:
		return &Violation{Seed: h.seed, What: "the engine does not recover"}
	case verdict == porcupine.Unknown:
		return &Violation{Seed: h.seed, What: fmt.Sprintf("the check of the history takes more than %v", mostChecking)}
	case verdict == porcupine.Illegal:
		return h.explain(c.Pictures)
	}
	return nil
}
