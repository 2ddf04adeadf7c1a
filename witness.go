package dibs

import (
	"context"
	"time"
)

// Witness says after a crash whether the entity of a lapsed hold was saved. With a witness a
// lapsed hold becomes suspect: it blocks the name until the witness or an operator's [Settle]
// ends it.
//
// After [Exists] the name belongs to that entity. [Absent] must mean that the entity cannot be
// saved any more: the hold's epoch fences the save, or the save has a deadline before
// ExpiresAt. After [Unknown] or an error the name stays suspect, and the witness is asked again
// with backoff. The error's text becomes the name's doubt. If the error has a method Doubt()
// string, that text does, and the error is only logged.
//
// A Witness must be safe for concurrent use and should respect its context. Package witness has
// some that ask a service or a database.
type Witness func(ctx context.Context, hold SuspectHold) (Verdict, error)

// SuspectHold is the question to a witness.
type SuspectHold struct {
	ID            ID
	Namespace     string
	Value         string
	Canonical     string
	Epoch         uint64
	Entity        Entity // the intended owner that Reserve named, or zero
	CorrelationID string
	Meta          map[string]string
	Principal     string
	CreatedAt     time.Time
	ExpiresAt     time.Time
	// AskedAt is the present time on the engine's clock, like CreatedAt and ExpiresAt.
	AskedAt time.Time
}

// Key returns namespace:canonical.
func (h SuspectHold) Key() string { return h.Namespace + ":" + h.Canonical }

// Verdict is a witness's answer. The zero Verdict is [Unknown].
type Verdict struct {
	kind   verdictKind
	entity Entity // with exists
	reason string // with unknown; may be empty
}

type verdictKind uint8

const (
	unknown verdictKind = iota
	absent
	exists
)

// Unknown is the verdict that the witness cannot tell yet.
var Unknown = Verdict{kind: unknown}

// UnknownBecause is [Unknown] with a reason, which becomes the name's doubt.
func UnknownBecause(reason string) Verdict { return Verdict{kind: unknown, reason: reason} }

// Absent is the verdict that the entity was not saved and never will be.
var Absent = Verdict{kind: absent}

// Exists is the verdict that this entity was saved.
func Exists(entity Entity) Verdict { return Verdict{kind: exists, entity: entity} }

// Outcome returns "exists", "absent" or "unknown", and the entity that exists.
func (v Verdict) Outcome() (outcome string, entity Entity) {
	switch v.kind {
	case exists:
		return "exists", v.entity
	case absent:
		return "absent", Entity{}
	default:
		return "unknown", Entity{}
	}
}

// Reason returns why the verdict is unknown; empty if the witness gave no reason.
func (v Verdict) Reason() string { return v.reason }
