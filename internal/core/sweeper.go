package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/rules"
)

// sweepBatchSize is how many records are swept at once.
const sweepBatchSize = 1000

// Sweep sweeps up to limit records whose date has come: lapsed holds expire or become suspect,
// quarantines that are over end, aliases past their retention are given up, old rows that were
// never confirmed are purged, and witnesses are asked. Several processes may sweep at once.
func (c *core) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	if err := c.refuseBound("a sweep"); err != nil {
		return dibs.SweepReport{}, err
	}
	start := time.Now()
	var report dibs.SweepReport
	more := true
	for more && report.Looked < limit {
		// A swept record may be due again at once: a deleted entity has more names, or a hold
		// that lapsed long ago has to be purged.
		due, err := c.store.Due(ctx, min(limit-report.Looked, sweepBatchSize))
		if err != nil {
			return report, err
		}
		progress, err := c.sweepBatch(ctx, due, &report)
		if err != nil {
			return report, err
		}
		more = len(due) > 0 && progress
	}
	report.More, report.Took = more, time.Since(start)
	if c.cfg.Observer.Sweep != nil {
		c.cfg.Observer.Sweep(report)
	}
	return report, nil
}

// sweepBatch sweeps records through the writer, which commits them together. It reports whether
// at least one of them is not due again at once.
func (c *core) sweepBatch(ctx context.Context, due []dibs.Ref, report *dibs.SweepReport) (progress bool, _ error) {
	jobs := make([]*rules.Job[rules.Swept], len(due))
	for i, ref := range due {
		jobs[i] = c.rules().Sweep(ref)
	}
	calls, refused := sendAll(ctx, c, jobs, true)
	if refused != nil {
		return false, refused
	}
	var suspects []dibs.Name
	for i, call := range calls {
		err := c.await(ctx, call)
		report.Looked++
		switch {
		case err == nil:
		case errors.Is(err, errHeld), errors.Is(err, errContended):
			continue // a later sweep sweeps it; the other records need not wait
		default:
			return false, err
		}
		result, _ := jobs[i].Result()
		if result.Changed {
			report.Changed++
			progress = true
		}
		if result.Suspect != nil {
			suspects = append(suspects, *result.Suspect)
		}
	}
	settled, err := c.askWitnesses(ctx, suspects)
	report.Suspects += len(suspects)
	report.Settled += settled
	// A suspect is not due again at once, whatever its witness says.
	return progress || len(suspects) > 0, err
}

// sweepOften sweeps from time to time, until the context ends. With the jitter, processes do
// not sweep at the same time.
func (c *core) sweepOften(ctx context.Context, every time.Duration) {
	for backoff.Sleep(ctx, every/2+rand.N(every)) == nil {
		for more := true; more; {
			report, err := c.Sweep(ctx, sweepBatchSize)
			if err != nil && ctx.Err() == nil {
				c.cfg.Logger.Warn("dibs: the sweep failed", "error", err)
			}
			more = err == nil && report.More
		}
	}
}
