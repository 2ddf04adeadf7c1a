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
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	sweepBatch      = 1000
	witnessesAtOnce = 8
	witnessTimeout  = 30 * time.Second
	maxDoubt        = 200 // bytes of what a witness says
)

// Sweep looks at up to limit records whose date has come: lapsed holds become
// expired or suspect, quarantines that are over become free, aliases past their
// retention are given up, old rows that were never confirmed are purged, and
// witnesses are asked. It is safe to run anywhere, at any time, by many at once.
func (c *core) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	if c.writer == nil {
		return dibs.SweepReport{}, fmt.Errorf("%w: a sweep inside a transaction of the caller's own", dibs.ErrUnsupported)
	}
	start := time.Now()
	var report dibs.SweepReport
	for report.Looked < limit {
		// What was due may be due again at once: a deleted entity has more names, a
		// hold that lapsed long ago is to be purged.
		due, err := c.store.Due(ctx, min(limit-report.Looked, sweepBatch))
		if err != nil {
			return report, err
		}
		progress, err := c.sweepBatch(ctx, due, &report)
		if err != nil {
			return report, err
		}
		if len(due) == 0 || !progress {
			report.Took = time.Since(start)
			c.swept(report)
			return report, nil
		}
	}
	report.More, report.Took = true, time.Since(start)
	c.swept(report)
	return report, nil
}

// sweepBatch sweeps records through the writer, which commits them together. It
// reports whether any of them will not be due again at once.
func (c *core) sweepBatch(ctx context.Context, due []dibs.Ref, report *dibs.SweepReport) (progress bool, _ error) {
	jobs := make([]*rules.Job[rules.Swept], len(due))
	for i, ref := range due {
		jobs[i] = c.rules().Sweep(ref)
	}
	answers, refused := sendAll(ctx, c, jobs, true)
	if refused != nil {
		return false, refused
	}
	var suspects []dibs.Name
	for i, answer := range answers {
		err := answer()
		report.Looked++
		switch {
		case err == nil:
		case errors.Is(err, errHeld), errors.Is(err, errContended):
			continue // a later sweep takes it; the records behind it do not wait for that
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
	// Whatever a witness says, the suspect is not due again at once.
	return progress || len(suspects) > 0, err
}

// askWitnesses asks about several holds at once, a few at a time: witnesses are
// slow, and should not be overrun.
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

// askWitness asks the witness of the name's namespace and passes on what it says.
func (c *core) askWitness(ctx context.Context, n dibs.Name, now dibs.Instant) (settled bool, err error) {
	said := rules.Testimony{ID: n.ID, Epoch: n.Epoch, Expires: n.ExpiresAt, Doubt: "the witness does not know yet"}
	policy, invalid := c.rules().Policy(n.Namespace)
	if invalid != nil {
		return false, invalid
	}
	if policy.Witness == nil {
		said.Doubt, said.Unasked = "this process has no witness for the namespace", true
	} else {
		verdict, err := c.callWitness(ctx, policy.Witness, suspectHold(n, now))
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			said.Doubt = "the witness failed: " + plainText(doubtOf(err), maxDoubt)
			c.cfg.Logger.Warn("dibs: a witness failed", "id", n.ID.String(), "namespace", n.Namespace, "error", err)
		case verdict.Reason() != "":
			said.Doubt = "the witness does not know: " + plainText(verdict.Reason(), maxDoubt)
		default:
			said.Verdict = verdict
		}
	}
	settled, refused := perform(ctx, c, c.rules().Testify(said))
	switch {
	case refused == nil:
		return settled, nil
	case errors.Is(refused, errHeld):
		return false, nil // it is asked again
	default:
		return false, refused
	}
}

// doubtOf is what is shown of an error with the name: all of it, unless its maker says what
// is fit to be seen.
func doubtOf(err error) string {
	if fit, ok := errors.AsType[interface {
		error
		Doubt() string
	}](err); ok {
		return fit.Doubt()
	}
	return err.Error()
}

// callWitness asks a witness, which is the user's code: it may take too long, or
// panic.
func (c *core) callWitness(ctx context.Context, witness dibs.Witness, hold dibs.SuspectHold) (v dibs.Verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			v, err = dibs.Unknown, fmt.Errorf("it panicked: %v", p)
		}
		if c.cfg.Observer.Witness != nil {
			c.cfg.Observer.Witness(dibs.WitnessInfo{Hold: hold, Verdict: v, Err: err, Took: time.Since(start)})
		}
	}()
	return witness(ctx, hold)
}

// suspectHold is what a witness is told of a name.
func suspectHold(n dibs.Name, now dibs.Instant) dibs.SuspectHold {
	return dibs.SuspectHold{
		ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical, Epoch: n.Epoch, Entity: n.Entity,
		CorrelationID: n.CorrelationID, Meta: n.Meta, Principal: n.Principal,
		CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt, AskedAt: now.Time(),
	}
}

func (c *core) swept(report dibs.SweepReport) {
	if c.cfg.Observer.Sweep != nil {
		c.cfg.Observer.Sweep(report)
	}
}

// sweepOften sweeps until the context ends. The jitter keeps many processes from
// sweeping in step.
func (c *core) sweepOften(ctx context.Context, every time.Duration) {
	for {
		pause := every/2 + rand.N(every)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		for {
			report, err := c.Sweep(ctx, sweepBatch)
			if err != nil {
				if ctx.Err() == nil {
					c.cfg.Logger.Warn("dibs: a sweep failed", "error", err)
				}
				break
			}
			if !report.More {
				break
			}
		}
	}
}

// plainText makes a foreign text fit to be stored: at most n bytes of UTF-8 without
// control characters.
func plainText(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return s
}
