package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

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
		verdict, err := c.callWitness(ctx, policy.Witness, suspectHold(n, now))
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

// suspectHold returns what a witness is told of a name.
func suspectHold(n dibs.Name, now dibs.Instant) dibs.SuspectHold {
	return dibs.SuspectHold{
		ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical, Epoch: n.Epoch, Entity: n.Entity,
		CorrelationID: n.CorrelationID, Meta: n.Meta, Principal: n.Principal,
		CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt, AskedAt: now.Time(),
	}
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
