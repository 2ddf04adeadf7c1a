package webhook

import (
	"time"

	"github.com/calldibs/dibs"
)

// Limits are what tests make smaller; zero means the default.
type Limits struct {
	Waiting, Letters  int
	Lease, Poll, Save time.Duration
}

// WithLimits returns a configuration with other limits.
func (c Config) WithLimits(l Limits) Config {
	c.limits = limits{l.Waiting, l.Letters, l.Lease, l.Poll, l.Save}
	return c
}

// Troubled is after how many failures a receiver is taken to be down.
const Troubled = troubled

// KindState is the kind of document that says how far deliveries are.
const KindState = kindState

// AllKinds are the kinds of event that a webhook can ask for.
func AllKinds() []dibs.EventKind { return kinds }

// AllDocuments are the kinds of document that belong to a hook.
func AllDocuments() []dibs.Kind { return []dibs.Kind{kindHook, kindState, kindBox, kindLetter} }
