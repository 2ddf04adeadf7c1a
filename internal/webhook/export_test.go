package webhook

import (
	"time"

	"github.com/calldibs/dibs"
)

// Limits are the values that tests make smaller; zero means the default.
type Limits struct {
	Queued, DeadLetters int
	Lease, Poll, Save   time.Duration
}

// WithLimits returns a configuration with other limits.
func (c Config) WithLimits(l Limits) Config {
	c.limits = limits{l.Queued, l.DeadLetters, l.Lease, l.Poll, l.Save}
	return c
}

// FailuresUntilDown is after how many failures a receiver counts as down.
const FailuresUntilDown = failuresUntilDown

// KindState is the kind of document with the progress of deliveries.
const KindState = kindState

// AllKinds are the kinds of event that a webhook can ask for.
func AllKinds() []dibs.EventKind { return kinds }

// AllDocuments are the kinds of document that belong to a hook.
func AllDocuments() []dibs.Kind {
	return []dibs.Kind{kindHook, kindState, kindDeadLetterCount, kindDeadLetter}
}

// Rev returns the revision of the stored webhook.
func (h *Hook) Rev() uint64 { return h.rev }
