package dibs

import (
	"encoding/json"
	"fmt"
)

// EventKind says what happened.
type EventKind string

// The kinds of event.
const (
	EventReserved    EventKind = "reserved"
	EventExtended    EventKind = "extended"
	EventConfirmed   EventKind = "confirmed"   // a hold became active
	EventClaimed     EventKind = "claimed"     // a free name became active at once
	EventReleased    EventKind = "released"    // its holder let a hold go
	EventExpired     EventKind = "expired"     // a hold's time ran out
	EventSuspected   EventKind = "suspected"   // it ran out, and a witness has to say what that means
	EventDemoted     EventKind = "demoted"     // the active name became an alias
	EventRevived     EventKind = "revived"     // an alias became the active name again
	EventRespelled   EventKind = "respelled"   // same name, written differently
	EventGivenUp     EventKind = "given_up"    // decommissioned, deleted, or past its retention
	EventUnlocked    EventKind = "unlocked"    // a quarantine is over
	EventTransferred EventKind = "transferred" // the name went to another entity
	EventMoved       EventKind = "moved"       // the rules of the namespace changed: from one canonical form to another
	EventForgotten   EventKind = "forgotten"   // what was known of the name before, or of a person who had it, is erased
	EventArchived    EventKind = "archived"    // about an entity, as the two below
	EventRestored    EventKind = "restored"
	EventDeleted     EventKind = "deleted"
)

// Cursor is a place in the feed of events. It is opaque; the empty Cursor is the
// beginning.
type Cursor string

// Latest is a cursor to ask with: the feed's end, whatever it is then. Who resumes from
// the [EventPage.Next] that comes back is given all that happens from then on.
const Latest Cursor = "latest"

// Event is one committed change. It carries all that a reader needs to follow the
// registry without asking back.
type Event struct {
	Cursor Cursor    // the place in the feed just behind this event
	Kind   EventKind // what happened
	At     Instant   // when: an expiry is dated when it fell due, not when it was noticed

	// The name; all zero for events about an entity as a whole.
	ID        ID
	Namespace string
	Canonical string
	Value     string
	Rev       uint64 // each event of a name has the next one, or later
	Epoch     uint64
	Before    Snapshot
	After     Snapshot

	// The entity concerned, with its version after the change; zero where there
	// is none.
	Scope   string
	Entity  Entity
	Version uint64

	Actor         string // the principal that asked for it; empty for the registry itself
	CorrelationID string
	Meta          map[string]string // of the hold, with its first event
}

// Key returns namespace:canonical, or nothing for an event about an entity.
func (e *Event) Key() string {
	if e.ID.IsZero() {
		return ""
	}
	return e.Namespace + ":" + e.Canonical
}

// Snapshot is a name's state at one moment. Folding the After of a name's events
// gives its present state.
type Snapshot struct {
	State  State   `json:"s,omitempty"`
	Status Status  `json:"t,omitempty"`
	Epoch  uint64  `json:"e,omitempty"`
	Entity Entity  `json:"o,omitzero"`  // the owner, last owner, or owner-to-be
	Until  Instant `json:"u,omitempty"` // when the state ends by itself, if it does
}

// compact leaves out what the state tells: there are two snapshots in every event.
func (s Snapshot) compact() Snapshot {
	if s.Status == s.State.status() {
		s.Status = ""
	}
	return s
}

// whole undoes compact.
func (s Snapshot) whole() Snapshot {
	if s.Status == "" {
		s.Status = s.State.status()
	}
	return s
}

// status is what became of the reservation of a name in this state, where there is
// one possibility only.
func (s State) status() Status {
	switch s {
	case Held:
		return StatusReserved
	case Suspect:
		return StatusSuspect
	case Active, Alias:
		return StatusConfirmed
	default:
		return ""
	}
}

// eventBody is how engines keep what of an event needs no column of its own.
// Names are short because there are at least two events for every name.
type eventBody struct {
	Canonical     string            `json:"c,omitempty"`
	Value         string            `json:"v,omitempty"` // only where it differs from Canonical
	Before        Snapshot          `json:"b,omitzero"`
	After         Snapshot          `json:"a,omitzero"`
	Scope         string            `json:"p,omitempty"` // only where there is no namespace to tell
	Entity        Entity            `json:"o,omitzero"`  // only where After does not tell
	Version       uint64            `json:"n,omitempty"`
	Actor         string            `json:"w,omitempty"`
	CorrelationID string            `json:"i,omitempty"`
	Meta          map[string]string `json:"m,omitempty"`
}

// EncodeBody returns the part of the event that engines store as it is. Cursor,
// Kind, At, ID, Namespace and Rev are not in it: they have columns, or their
// like, of their own.
func (e *Event) EncodeBody() ([]byte, error) {
	body := eventBody{
		Canonical: e.Canonical, Before: e.Before.compact(), After: e.After.compact(), Version: e.Version,
		Actor: e.Actor, CorrelationID: e.CorrelationID, Meta: e.Meta,
	}
	if e.Value != e.Canonical {
		body.Value = e.Value
	}
	if e.ID.IsZero() {
		body.Scope = e.Scope
	}
	if e.Entity != e.After.Entity {
		body.Entity = e.Entity
	}
	return json.Marshal(body)
}

// DecodeBody fills in what EncodeBody left out of the columns. Kind, At, ID,
// Namespace and Rev must be set already.
func (e *Event) DecodeBody(data []byte) error {
	var body eventBody
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("dibs: event of %s, revision %d, is damaged: %w", e.ID, e.Rev, err)
	}
	e.Canonical, e.Value = body.Canonical, body.Value
	if e.Value == "" {
		e.Value = e.Canonical
	}
	e.Before, e.After, e.Epoch = body.Before.whole(), body.After.whole(), body.After.Epoch
	e.Entity, e.Version = body.Entity, body.Version
	if e.Entity.IsZero() {
		e.Entity = body.After.Entity
	}
	e.Scope = body.Scope
	if !e.ID.IsZero() {
		e.Scope = ScopeOf(e.Namespace)
	}
	e.Actor, e.CorrelationID, e.Meta = body.Actor, body.CorrelationID, body.Meta
	return nil
}

// FeedQuery selects events of the feed.
type FeedQuery struct {
	After     Cursor // resume behind this; empty means from the beginning, [Latest] from now on
	Namespace string // only names of this namespace; empty means everything
	Limit     int    // zero means 100; 1,000 at the most
}

// EventPage is a page of the feed.
type EventPage struct {
	Events []Event
	Next   Cursor // resume here, also if the page is empty
	// More says that the page ends before the feed does: at its limit, or because a call
	// looks at 1,000 events at the most, however few of them are of the namespace that was
	// asked for. So a page may be empty and the end not reached.
	More bool
	// Generation is another number when answers may have changed without an event,
	// because policies did. Zero means that nobody knows: the policies are a server's.
	Generation uint64
}
