package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// campaign fuzzes many targets, one at a time.
type campaign struct {
	each, slice, most time.Duration
	file              string
	workers, keep     int

	ran    figures.Proof // what each target did, with earlier runs
	folder string        // for test binaries
	commit string
}

// run fuzzes the targets that have run least, until each has had its time, the time of the campaign is over, or ctx ends.
// It goes on after one that fails, without that one.
func (c *campaign) run(ctx context.Context, only string) (ok bool, err error) {
	targets, err := find(".")
	if err != nil {
		return false, err
	}
	targets = slices.DeleteFunc(targets, func(t target) bool { return !strings.Contains(t.String(), only) })
	commit, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return false, fmt.Errorf("git: %w", err)
	}
	c.commit = strings.TrimSpace(string(commit))
	if c.folder, err = os.MkdirTemp("", "dibs-fuzz-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(c.folder)
	if c.file != "" {
		if c.ran, err = figures.ReadProof(c.file); err != nil {
			return false, err
		}
	}
	ok = true
	for began := time.Now(); ctx.Err() == nil; {
		t, length := c.next(targets, time.Since(began))
		if length <= 0 {
			break
		}
		r, err := c.fuzz(ctx, t, length)
		if err != nil {
			return false, err
		}
		if !r.ok {
			ok = false
			targets = slices.DeleteFunc(targets, func(other target) bool { return other == t })
		}
	}
	c.report()
	return ok, nil
}

// next returns the target that has run least, and how long it runs now: not at all if it has had its time, or the time of the
// campaign is over.
func (c *campaign) next(targets []target, gone time.Duration) (least target, length time.Duration) {
	for i, t := range targets {
		if left := c.each - c.had(t); i == 0 || left > length {
			least, length = t, left
		}
	}
	if c.most > 0 {
		length = min(length, c.most-gone)
	}
	return least, min(length, c.slice).Round(time.Second) // a shorter time is not worth its start
}

// had is how long a target has run.
func (c *campaign) had(t target) time.Duration {
	return time.Duration(c.ran.Target(t.pkg, t.name).Seconds * float64(time.Second))
}

// fuzz runs a target for a while, and keeps what it did.
func (c *campaign) fuzz(ctx context.Context, t target, length time.Duration) (result, error) {
	program, err := t.build(c.folder)
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	r, err := t.fuzz(ctx, program, length, c.workers)
	if err != nil {
		return result{}, err
	}
	fmt.Println(r)
	if !r.ok {
		fmt.Println(indented(r.output))
	} else if c.keep > 0 && ctx.Err() == nil {
		if err := t.keep(c.keep); err != nil {
			return result{}, err
		}
	}
	run := figures.FuzzTarget{
		Package: t.pkg, Name: t.name, Seconds: r.took.Seconds(), Inputs: r.executions, New: r.interesting, Findings: r.findings,
		Date: began.UTC().Format(time.DateOnly), Commit: c.commit,
	}
	c.ran.AddFuzz(run)
	if c.file != "" {
		err = figures.UpdateProof(c.file, func(p *figures.Proof) { p.AddFuzz(run) })
	}
	return r, err
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
