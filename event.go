package dibs

import (
	"cmp"
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
	EventReleased    EventKind = "released"    // a hold was ended before its time
	EventExpired     EventKind = "expired"     // a hold's time is over
	EventSuspected   EventKind = "suspected"   // a hold's time is over; its witness has to decide
	EventDemoted     EventKind = "demoted"     // the active name became an alias
	EventRevived     EventKind = "revived"     // an alias became the active name again
	EventRespelled   EventKind = "respelled"   // the same name, written differently
	EventGivenUp     EventKind = "given_up"    // decommissioned, deleted, or past its retention
	EventUnlocked    EventKind = "unlocked"    // a quarantine is over
	EventTransferred EventKind = "transferred" // the name has another owner
	EventMoved       EventKind = "moved"       // it has another canonical form, by new rules of the namespace
	EventForgotten   EventKind = "forgotten"   // the name, or a person in its history, was erased
	EventArchived    EventKind = "archived"    // about an entity, like the next two
	EventRestored    EventKind = "restored"
	EventDeleted     EventKind = "deleted"
)

// Cursor is an opaque position in the feed of events. The empty Cursor is the beginning.
type Cursor string

// Latest is the cursor of the feed's end at the time of the request. A reader that resumes from
// the [EventPage.Next] of the answer gets all later events.
const Latest Cursor = "latest"

// Event is one committed change. The feed of events is enough to follow the registry.
type Event struct {
	Cursor Cursor    // the position in the feed just after this event
	Kind   EventKind // what happened
	At     Instant   // when; for an expiry the end of the hold, not when it was recorded

	// The name; all zero for events about an entity as a whole.
	ID        ID
	Namespace string
	Canonical string
	Value     string
	Rev       uint64 // goes up with each event of a name; there may be gaps
	Epoch     uint64
	Before    Snapshot
	After     Snapshot

	// The entity concerned, with its version after the change; zero if there is none.
	Scope   string
	Entity  Entity
	Version uint64

	Actor         string // the principal of the command; empty for the registry itself
	CorrelationID string
	Meta          map[string]string // of the hold, in its first event
}

// Key returns namespace:canonical; empty for an event about an entity.
func (e *Event) Key() string {
	if e.ID.IsZero() {
		return ""
	}
	return e.Namespace + ":" + e.Canonical
}

// Snapshot is a name's state at one moment. The After of its last event is its present state.
type Snapshot struct {
	State  State   `json:"s,omitempty"`
	Status Status  `json:"t,omitempty"`
	Epoch  uint64  `json:"e,omitempty"`
	Entity Entity  `json:"o,omitzero"`  // the owner, the last owner, or the intended owner
	Until  Instant `json:"u,omitempty"` // when the state ends by itself; zero if it does not
}

// compact omits a Status that follows from the State: every event stores two snapshots.
func (s Snapshot) compact() Snapshot {
	if s.Status == s.State.status() {
		s.Status = ""
	}
	return s
}

// expand is the inverse of compact.
func (s Snapshot) expand() Snapshot {
	s.Status = cmp.Or(s.Status, s.State.status())
	return s
}

// status returns the status that follows from the state; empty if several are possible.
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

// eventBody is the part of an event that engines store without columns of its own. The JSON
// names are short because every name has at least two events.
type eventBody struct {
	Canonical     string            `json:"c,omitempty"`
	Value         string            `json:"v,omitempty"` // only if it differs from Canonical
	Before        Snapshot          `json:"b,omitzero"`
	After         Snapshot          `json:"a,omitzero"`
	Scope         string            `json:"p,omitempty"` // only if there is no namespace
	Entity        Entity            `json:"o,omitzero"`  // only if After has another one
	Version       uint64            `json:"n,omitempty"`
	Actor         string            `json:"w,omitempty"`
	CorrelationID string            `json:"i,omitempty"`
	Meta          map[string]string `json:"m,omitempty"`
}

// EncodeBody returns the part of the event that engines store unchanged: all but Cursor, Kind,
// At, ID, Namespace and Rev, for which engines have columns.
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

// DecodeBody sets the fields that EncodeBody encoded. Kind, At, ID, Namespace and Rev must
// already be set.
func (e *Event) DecodeBody(data []byte) error {
	var body eventBody
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("dibs: the event of %s with revision %d is damaged: %w", e.ID, e.Rev, err)
	}
	e.Canonical, e.Value = body.Canonical, cmp.Or(body.Value, body.Canonical)
	e.Before, e.After, e.Epoch = body.Before.expand(), body.After.expand(), body.After.Epoch
	e.Entity, e.Version = cmp.Or(body.Entity, body.After.Entity), body.Version
	e.Scope = body.Scope
	if !e.ID.IsZero() {
		e.Scope = ScopeOf(e.Namespace)
	}
	e.Actor, e.CorrelationID, e.Meta = body.Actor, body.CorrelationID, body.Meta
	return nil
}

// FeedQuery selects events of the feed.
type FeedQuery struct {
	After     Cursor // resume here; empty means the beginning, [Latest] the end
	Namespace string // only events of its names; empty means all events
	Limit     int    // zero means 100; at most 1,000
}

// EventPage is a page of the feed.
type EventPage struct {
	Events []Event
	Next   Cursor // resume here, also if the page is empty
	// More says that the page does not reach the end of the feed. A call reads at most 1,000
	// events, whether or not they match Namespace: so even an empty page may have more.
	More bool
	// Generation changes when policies do: answers may then have changed without an event. Zero
	// means unknown: the policies are on a server.
	Generation uint64
}
