package nametest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/storetest"
)

// life runs everything that can happen to a value, and records all output about it.
type life struct {
	testing.TB
	secret
	harness *Harness
	clock   *storetest.Clock
	said    *transcript

	kind  string // of the namespace; the prefix of everything else
	blind bool

	reg *dibs.Registry
}

const (
	lifeTTL  = time.Minute
	lifeKept = time.Hour // of a hold that was never confirmed, and of a quarantine
)

// namespaces are the namespaces of the values: a plain one, one in a scope, and one with a
// witness.
func (l *life) namespaces() []string { return []string{l.kind, "scope." + l.kind, l.kind + "-seen"} }

// policies returns the policies of all namespaces, with keys if they are blind, and of one
// with a profile that reveals values.
func (l *life) policies(keys ...dibs.BlindKey) map[string]dibs.Policy {
	if !l.blind {
		keys = nil
	}
	p := dibs.Policy{
		Profile: coretest.Lower{}, Skeleton: coretest.Digits{}, Blind: keys, DefaultTTL: lifeTTL, HoldHistory: lifeKept, Quarantine: lifeKept,
		ReservedWords: dibs.WordList(strings.ToLower(l.word)), MaxHolds: 8,
	}
	seen, odd := p, p
	seen.Witness = l.witness
	odd.Profile = talkative{}
	return map[string]dibs.Policy{l.kind: p, l.kind + "-seen": seen, l.kind + "-odd": odd}
}

// open opens one more registry.
func (l *life) open(keys ...dibs.BlindKey) *dibs.Registry {
	l.Helper()
	return l.harness.open(l, l.said.config(l.policies(keys...)))
}

func (l *life) entity(id string) dibs.Entity { return dibs.Entity{Type: l.kind, ID: id} }

// must applies a command that must succeed.
func (l *life) must(command dibs.Command) dibs.Result {
	l.Helper()
	return l.mustBy(l.reg, command)
}

func (l *life) mustBy(reg *dibs.Registry, command dibs.Command) dibs.Result {
	l.Helper()
	results, err := reg.Apply(l.Context(), command)
	if err != nil {
		l.said.tell(err)
		l.Fatalf("%T: %v", command, err)
	}
	l.said.tell(results)
	return results[0]
}

// refused applies a command that must be refused.
func (l *life) refused(want error, command dibs.Command) {
	l.Helper()
	l.refusedBy(l.reg, want, command)
}

func (l *life) refusedBy(reg *dibs.Registry, want error, command dibs.Command) {
	l.Helper()
	if err := l.tryRefused(reg, want, command); err != nil {
		l.Fatal(err)
	}
}

// tryRefused is refusedBy for a transaction, which may have lost its race: it returns the error, which [Harness.inTx] knows.
func (l *life) tryRefused(reg *dibs.Registry, want error, command dibs.Command) error {
	_, err := reg.Apply(l.Context(), command)
	switch {
	case err == nil:
		return fmt.Errorf("%T was done, want %v", command, want)
	case !errors.Is(err, want):
		return fmt.Errorf("%T: %w, want %v", command, err, want)
	}
	l.said.tell(err)
	_, err = reg.DryRun(l.Context(), command)
	l.said.tell(err)
	return nil
}

// record records an answer.
func (l *life) record(answer any, err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
	l.said.tell(answer)
}

// recordAny records an answer that may be an error.
func (l *life) recordAny(answer any, err error) {
	l.said.tell(answer)
	if err != nil {
		l.said.tell(err)
	}
}

// pass advances the clock, and sweeps everything that is over by then.
func (l *life) pass(d time.Duration) {
	l.Helper()
	l.clock.Advance(d)
	for range 2 { // the first sweep may make more records due
		l.record(l.reg.Sweep(l.Context(), 1000))
	}
}

// talkative is a profile whose errors reveal values, written without blind values in mind.
type talkative struct{}

func (talkative) Name() string { return "talkative/1" }

func (talkative) Canonical(value string) (string, error) {
	if strings.Contains(value, "!") {
		return "", fmt.Errorf("%q is not good", value)
	}
	panic("cannot canonicalize " + value)
}

// witness fails on its first question about a hold, and answers later ones.
func (l *life) witness(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	l.said.tell(hold)
	if hold.CorrelationID == "exists" {
		return dibs.Exists(hold.Entity), nil
	}
	return dibs.Unknown, fmt.Errorf("no answer about %+v", hold)
}
