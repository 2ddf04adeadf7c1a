package dibs

import "time"

// EventKind says what happened.
type EventKind string

// The kinds of event.
const (
	EventReserved    EventKind = "reserved"
	EventExtended    EventKind = "extended"
	EventConfirmed   EventKind = "confirmed"   // a hold became active
	EventClaimed     EventKind = "claimed"     // a free name became active at once
	EventImported    EventKind = "imported"    // a free name became active, or an alias, as in another system
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

// Moment returns the time of a cursor that is one, in the format of RFC 3339; ok is false for others.
// After such a cursor the feed has what happened at that time and later, if the engine's clock was
// never set back. Events that are dated back, ends and imports, are where they were recorded.
func (c Cursor) Moment() (moment time.Time, ok bool) {
	moment, err := time.Parse(time.RFC3339, string(c))
	return moment, err == nil
}

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

// FeedQuery selects events of the feed.
type FeedQuery struct {
	After     Cursor // resume here; empty means the beginning, [Latest] the end; see also [Cursor.Moment]
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
