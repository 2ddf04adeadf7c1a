package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/calldibs/dibs/internal/figures"
)

// campaign fuzzes many targets, a few at once.
type campaign struct {
	each, slice, most time.Duration
	file              string
	atOnce, keep      int

	folder string // for test binaries
	commit string
	began  time.Time

	mu      sync.Mutex
	waiting []target      // those that do not run now, and have not failed
	ran     figures.Proof // what each target did, with earlier runs
	failed  bool
}

// run fuzzes the targets that have run least, until each has had its time, the time of the campaign is over, or ctx ends.
// It goes on after one that fails, without that one.
func (c *campaign) run(ctx context.Context, only string) (ok bool, err error) {
	targets, err := find(".")
	if err != nil {
		return false, err
	}
	c.waiting = slices.DeleteFunc(targets, func(t target) bool { return !strings.Contains(t.String(), only) })
	if len(c.waiting) == 0 {
		return false, fmt.Errorf("no target has %q in its package or name", only)
	}
	if c.commit, err = figures.Commit(); err != nil {
		return false, err
	}
	if c.folder, err = os.MkdirTemp("", "dibs-fuzz-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(c.folder)
	if c.file != "" {
		if c.ran, err = figures.ReadProof(c.file); err != nil {
			return false, err
		}
	}
	c.began = time.Now()
	turns, ctx := errgroup.WithContext(ctx)
	for range c.atOnce {
		turns.Go(func() error { return c.takeTurns(ctx) })
	}
	if err := turns.Wait(); err != nil {
		return false, err
	}
	c.report()
	return !c.failed, nil
}

// takeTurns fuzzes one target after the other.
func (c *campaign) takeTurns(ctx context.Context) error {
	for ctx.Err() == nil {
		t, length := c.next(time.Since(c.began))
		if length <= 0 {
			break
		}
		if err := c.fuzz(ctx, t, length); err != nil {
			return err
		}
	}
	return nil
}

// next takes the target out of those that wait which has run least, and returns how long it runs now: not at all if it has had
// its time, or the time of the campaign is over.
func (c *campaign) next(gone time.Duration) (least target, length time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range c.waiting {
		if left := c.each - c.had(t); i == 0 || left > length {
			least, length = t, left
		}
	}
	if c.most > 0 {
		length = min(length, c.most-gone)
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(t target) bool { return t == least })
	return least, min(length, c.slice).Round(time.Second) // a shorter time is not worth its start
}

// had is how long a target has run.
func (c *campaign) had(t target) time.Duration {
	return time.Duration(c.ran.Target(t.pkg, t.name).Seconds * float64(time.Second))
}

// fuzz runs a target for a while, and keeps what it did.
func (c *campaign) fuzz(ctx context.Context, t target, length time.Duration) error {
	program, err := c.build(t)
	if err != nil {
		return err
	}
	began := time.Now()
	r, err := t.fuzz(ctx, program, length)
	if err != nil {
		return err
	}
	if r.ok && r.ended && r.executions == 0 {
		return nil
	}
	fmt.Println(r)
	if !r.ok {
		fmt.Println("\t" + strings.ReplaceAll(strings.TrimSpace(r.output), "\n", "\n\t"))
	} else if c.keep > 0 && !r.ended {
		if err := t.keep(c.keep); err != nil {
			return err
		}
	}
	return c.add(r, figures.FuzzTarget{
		Package: t.pkg, Name: t.name, Seconds: r.took.Seconds(), Inputs: r.executions, New: r.interesting, Findings: r.findings,
		Date: began.UTC().Format(time.DateOnly), Commit: c.commit,
	})
}

// build returns the test binary of a target. Targets of one package share theirs.
func (c *campaign) build(t target) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.build(c.folder)
}

// add adds a run of a target, which waits for its next turn unless it has failed.
func (c *campaign) add(r result, run figures.FuzzTarget) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran.AddFuzz(run)
	if r.ok {
		c.waiting = append(c.waiting, r.target)
	} else {
		c.failed = true
	}
	if c.file == "" {
		return nil
	}
	return figures.UpdateProof(c.file, func(p *figures.Proof) { p.AddFuzz(run) })
}

// report prints the sums.
func (c *campaign) report() {
	var sum figures.FuzzTarget
	for _, t := range c.ran.Fuzz {
		sum.Seconds += t.Seconds
		sum.Inputs += t.Inputs
		sum.New += t.New
		sum.Findings += t.Findings
	}
	fmt.Printf("\nall runs of %d targets: %v, %s inputs, %d new ones, %d findings\n", len(c.ran.Fuzz),
		time.Duration(sum.Seconds)*time.Second, figures.Thousands(float64(sum.Inputs)), sum.New, sum.Findings)
}
