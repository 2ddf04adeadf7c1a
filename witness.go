package dibs

import (
	"context"
	"time"
)

// Witness answers, after a crash, whether the entity of a hold whose time ran out
// was saved. With a witness a lapsed hold becomes suspect: it still blocks the
// name until the witness, or an operator's [Settle], ends it.
//
// Exists: the name becomes that entity's. Absent must mean that the entity can no
// longer appear: its save is fenced by the hold's epoch, or by a deadline before
// ExpiresAt. Unknown, or an error: the name stays suspect and the witness is asked
// again later, with growing pauses. What the error says is shown as the name's doubt; one
// with a method Doubt() string has that shown instead, and all of it only in the log.
//
// A Witness must be safe for concurrent use and should honour its context. Package
// witness has some that ask a service or a database.
type Witness func(ctx context.Context, hold SuspectHold) (Verdict, error)

// SuspectHold is a hold that a witness is asked about.
type SuspectHold struct {
	ID            ID
	Namespace     string
	Value         string
	Canonical     string
	Epoch         uint64
	Entity        Entity // the owner-to-be that Reserve named, or none
	CorrelationID string
	Meta          map[string]string
	Principal     string
	CreatedAt     time.Time
	ExpiresAt     time.Time
	// AskedAt is the engine's time, which CreatedAt and ExpiresAt are of, shortly before
	// the witness is asked.
	AskedAt time.Time
}

// Key returns namespace:canonical.
func (h SuspectHold) Key() string { return h.Namespace + ":" + h.Canonical }

// Verdict is a witness's answer. The zero Verdict is [Unknown].
type Verdict struct {
	kind   verdictKind
	entity Entity // of exists
	reason string // of unknown; may be empty
}

type verdictKind uint8

const (
	unknown verdictKind = iota
	absent
	exists
)

// Unknown is the verdict of a witness that cannot tell yet.
var Unknown = Verdict{kind: unknown}

// UnknownBecause is [Unknown] with what keeps the witness from knowing. It shows as the
// name's doubt.
func UnknownBecause(reason string) Verdict { return Verdict{kind: unknown, reason: reason} }

// Absent is the verdict that the entity was not saved and never will be.
var Absent = Verdict{kind: absent}

// Exists is the verdict that this entity was saved.
func Exists(entity Entity) Verdict { return Verdict{kind: exists, entity: entity} }

// Outcome returns the verdict as a word, "exists", "absent" or "unknown", and the
// entity that exists.
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

// Reason returns what keeps a witness from knowing; empty where it did not say.
func (v Verdict) Reason() string { return v.reason }
