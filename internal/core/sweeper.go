package core

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode"

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

// sweepBatch sweeps records and asks the witnesses of suspects. It reports whether at least one of
// the records is not due again at once.
func (c *core) sweepBatch(ctx context.Context, due []dibs.Ref, report *dibs.SweepReport) (progress bool, _ error) {
	batch, refused := c.sweeps.sweep(ctx, c.rules(), due)
	if refused != nil {
		return false, refused
	}
	var suspects []dibs.Name
	for i, call := range batch.calls {
		report.Looked++
		switch err := call.err; {
		case err == nil:
		case errors.Is(err, errHeld), errors.Is(err, errContended), err == errEndOpen:
			continue // a later sweep sweeps it; the other records need not wait
		default:
			return false, err
		}
		result, _ := batch.jobs[i].Result()
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

const (
	witnessesAtOnce = 8
	witnessTimeout  = 30 * time.Second
	maxDoubt        = 200 // bytes that are stored of an answer without a verdict
)

// askWitnesses asks the witnesses of suspect holds, a few at a time: witnesses are slow, and
// must not be overloaded. It returns how many holds were ended.
func (c *core) askWitnesses(ctx context.Context, suspects []dibs.Name) (settled int, err error) {
	if len(suspects) == 0 {
		return 0, nil
	}
	now, err := c.engineNow(ctx)
	if err != nil {
		return 0, err
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		slots = make(chan struct{}, witnessesAtOnce)
	)
	for _, n := range suspects {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			ended, fail := c.askWitness(ctx, n, now)
			mu.Lock()
			defer mu.Unlock()
			if ended {
				settled++
			}
			if fail != nil {
				err = fail
			}
		})
	}
	group.Wait()
	return settled, err
}

// askWitness asks the witness of a name's namespace, and commits the answer.
func (c *core) askWitness(ctx context.Context, n dibs.Name, now dibs.Instant) (settled bool, err error) {
	said := rules.Testimony{ID: n.ID, Epoch: n.Epoch, Expires: n.ExpiresAt, Doubt: "the witness does not know yet"}
	policy, invalid := c.rules().Policy(n.Namespace)
	if invalid != nil {
		return false, invalid
	}
	if policy.Witness == nil {
		said.Doubt, said.Unasked = "this process has no witness for the namespace", true
	} else {
		verdict, err := c.callWitness(ctx, policy.Witness, dibs.SuspectHold{
			ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical, Epoch: n.Epoch, Entity: n.Entity,
			CorrelationID: n.CorrelationID, Meta: n.Meta, Principal: n.Principal,
			CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt, AskedAt: now.Time(),
		})
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			said.Doubt = "the witness failed: " + plainText(doubtOf(err), maxDoubt)
			c.cfg.Logger.Warn("dibs: the witness failed", "id", n.ID.String(), "namespace", n.Namespace, "error", err)
		case verdict.Reason() != "":
			said.Doubt = "the witness does not know: " + plainText(verdict.Reason(), maxDoubt)
		default:
			said.Verdict = verdict
		}
	}
	settled, refused := perform(ctx, c, c.rules().Testify(said), true)
	switch {
	case refused == nil:
		return settled, nil
	case errors.Is(refused, errHeld):
		return false, nil // a later sweep asks again
	default:
		return false, refused
	}
}

// doubtOf returns the text of an error that is stored with the name: the part that is meant
// to be shown, if the error has one, else all of it.
func doubtOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Doubt() string
	}](err); ok {
		return e.Doubt()
	}
	return err.Error()
}

// callWitness calls a witness, which is code of the user: it may take too long or panic.
func (c *core) callWitness(ctx context.Context, witness dibs.Witness, hold dibs.SuspectHold) (v dibs.Verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			v, err = dibs.Unknown, fmt.Errorf("panic: %v", p)
		}
		if c.cfg.Observer.Witness != nil {
			c.cfg.Observer.Witness(dibs.WitnessInfo{Hold: hold, Verdict: v, Err: err, Took: time.Since(start)})
		}
	}()
	return witness(ctx, hold)
}

// plainText makes a text of the user storable: at most n bytes of UTF-8 without control
// characters.
func plainText(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.ToValidUTF8(s[:min(n, len(s))], "") // without a part of a character
}
