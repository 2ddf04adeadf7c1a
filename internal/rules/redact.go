package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Person is an entity that is to be forgotten.
type Person struct {
	Scope string
	dibs.Entity
}

// IsIn reports whether an event mentions the person.
func (p Person) IsIn(e *dibs.Event) bool {
	return e.Scope == p.Scope && (e.Entity == p.Entity || e.Before.Entity == p.Entity || e.After.Entity == p.Entity)
}

// has reports whether a name is the person's: owned now, held for it, or free and last the
// person's.
func (p Person) has(n *nameState, history []dibs.Event) bool {
	switch n.State {
	case dibs.Held, dibs.Suspect:
		return n.Intended == p.Entity
	case dibs.Active, dibs.Alias, dibs.Quarantined:
		return n.Owner == p.Entity
	default:
		for _, e := range slices.Backward(history) {
			if !e.After.Entity.IsZero() {
				return e.After.Entity == p.Entity
			}
		}
		return false
	}
}

// redaction is what the history of another entity's name has about the person.
type redaction struct {
	events []dibs.Event // as they will be
	row    bool         // the row has details of a hold of the person's

	epochs map[uint64]bool // epochs of the person's, and those that inherited from one
}

// concerns reports whether a token was the person's, or may have been: it is not known for tokens
// that came with the name from another row.
func (r *redaction) concerns(t dibs.SpentToken) bool { return r.epochs[t.Epoch] || t.Epoch == 0 }

// redact finds what a history has about the person. Everything in an epoch of the person's is
// removed, except for the name itself; later events lose what they inherited from such an epoch.
func (p Person) redact(n *nameState, history []dibs.Event) (r redaction) {
	epochs := make(map[uint64]bool)
	for i := range history {
		if e := &history[i]; e.After.Entity == p.Entity {
			epochs[e.Epoch] = true
		}
	}
	// A transfer begins an epoch and keeps the details of the hold, so epochs inherit in a chain.
	inherited := make(map[string]bool) // correlation IDs
	r.epochs = make(map[uint64]bool)
	for i := range history {
		e := &history[i]
		if e.Kind == dibs.EventReserved || e.Kind == dibs.EventClaimed {
			r.row = false
		}
		if epochs[e.Epoch] {
			r.row = true
			inherited[e.CorrelationID] = e.CorrelationID != ""
		}
		r.epochs[e.Epoch] = r.row
	}
	for _, e := range history {
		redacted := e
		if epochs[e.Epoch] {
			redacted.Actor, redacted.CorrelationID, redacted.Meta = "", "", nil
		}
		if inherited[e.CorrelationID] {
			redacted.CorrelationID = ""
		}
		if e.Entity == p.Entity {
			redacted.Version = 0
		}
		for _, entity := range []*dibs.Entity{&redacted.Entity, &redacted.Before.Entity, &redacted.After.Entity} {
			if *entity == p.Entity {
				*entity = dibs.Entity{}
			}
		}
		if !sameEvent(&redacted, &e) {
			r.events = append(r.events, redacted)
		}
	}
	r.row = r.row && n.hasDetails()
	return r
}

// sameEvent reports whether a redacted event has as much as the event that it was made from.
func sameEvent(e, from *dibs.Event) bool {
	return e.Entity == from.Entity && e.Before == from.Before && e.After == from.After &&
		e.Actor == from.Actor && e.CorrelationID == from.CorrelationID && len(e.Meta) == len(from.Meta)
}

// hasDetails reports whether the row of an owned name has details of the hold that it came from.
func (n *nameState) hasDetails() bool {
	return !n.held() && (!n.Token.IsZero() || n.Principal != "" || n.CorrelationID != "" || len(n.Meta) > 0 || !n.Intended.IsZero())
}

// dropDetails removes the details of the hold. Its token can no longer replay the Confirm.
func (n *nameState) dropDetails() {
	n.Token, n.Principal, n.CorrelationID, n.Meta, n.Intended = dibs.TokenHash{}, "", "", nil, dibs.Entity{}
}
