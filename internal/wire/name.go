// Package wire has the JSON types of the server's API, and converts them from and to the
// library's types. The server, the Go client and the command line share it.
package wire

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/calldibs/dibs"
)

// Entity is the thing that owns names.
type Entity struct {
	Type string `json:"type" doc:"The kind of entity." example:"wedding"`
	ID   string `json:"id" doc:"The id within the type." example:"42"`
}

// EntityOf converts an entity; nil for the zero entity.
func EntityOf(e dibs.Entity) *Entity {
	if e.IsZero() {
		return nil
	}
	return (*Entity)(&e)
}

// Entity returns the library's entity; zero for nil.
func (e *Entity) Entity() dibs.Entity {
	if e == nil {
		return dibs.Entity{}
	}
	return dibs.Entity(*e)
}

// Name is a name, or the reservation of one.
type Name struct {
	ReservationID string            `json:"reservationId" doc:"Always the same for the same key. It is public, and proves nothing." example:"res_c4mkvhn2l6u5tmbbq4zkzswwm4"`
	Token         string            `json:"token,omitempty" doc:"The proof of a hold. Shown once, to its holder."`
	Key           string            `json:"key" doc:"Namespace and canonical form." example:"slug:alice-bob"`
	Namespace     string            `json:"namespace" example:"slug"`
	Value         string            `json:"value" doc:"As the caller sent it." example:"Alice & Bob"`
	Canonical     string            `json:"canonical" doc:"The canonical form, which is unique." example:"alice-bob"`
	Status        string            `json:"status" enum:"reserved,suspect,confirmed,released,expired" doc:"The status of the last reservation."`
	State         string            `json:"state" enum:"free,held,suspect,active,alias,quarantined" doc:"The state of the name."`
	Epoch         uint64            `json:"epoch" doc:"Increases with each new hold or owner: a fencing token for other systems."`
	Entity        *Entity           `json:"entity,omitempty" doc:"The owner. For a hold: the owner-to-be. For a name that was given up: the last owner."`
	Version       uint64            `json:"version,omitempty" doc:"The entity's version."`
	Archived      bool              `json:"archived,omitempty" doc:"The entity is archived: the name stays taken and does not resolve."`
	Principal     string            `json:"principal,omitempty" doc:"The principal that reserved it."`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
	CreatedAt     string            `json:"createdAt,omitempty" format:"date-time" doc:"When this epoch began."`
	ExpiresAt     string            `json:"expiresAt,omitempty" format:"date-time" doc:"The end of a hold."`
	RemainingMs   int64             `json:"remainingMs" doc:"The time left of a hold, by the server's clock; 0 without a hold."`
	ConfirmedAt   string            `json:"confirmedAt,omitempty" format:"date-time"`
	EndedAt       string            `json:"endedAt,omitempty" format:"date-time" doc:"When it was released, expired or given up."`
	Until         string            `json:"until,omitempty" format:"date-time" doc:"The end of a quarantine, or of an alias."`
	Doubt         string            `json:"doubt,omitempty" doc:"Why a suspect is not settled yet."`
	Asked         int               `json:"asked,omitempty" doc:"For a suspect: how often its witness was asked and did not know."`
	AskAt         string            `json:"askAt,omitempty" format:"date-time" doc:"For a suspect: when its witness is asked next."`
	Replayed      bool              `json:"replayed" doc:"Whether this is a replay: nothing was changed."`
}

// NameOf converts a name.
func NameOf(n dibs.Name) Name {
	return Name{
		ReservationID: n.ID.String(), Key: n.Key(), Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		Status: string(n.Status), State: string(n.State), Epoch: n.Epoch, Entity: EntityOf(n.Entity), Version: n.Version, Archived: n.Archived,
		Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: n.Meta,
		CreatedAt: FormatTime(n.CreatedAt), ExpiresAt: FormatTime(n.ExpiresAt), ConfirmedAt: FormatTime(n.ConfirmedAt),
		EndedAt: FormatTime(n.EndedAt), Until: FormatTime(n.Until), Doubt: n.Doubt,
		Asked: n.Asked, AskAt: FormatTime(n.AskAt), RemainingMs: n.Remaining.Milliseconds(),
	}
}

// Name returns the library's name.
func (n Name) Name() (dibs.Name, error) {
	id, err := dibs.ParseID(n.ReservationID)
	if err != nil {
		return dibs.Name{}, err
	}
	return dibs.Name{
		ID: id, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		Status: dibs.Status(n.Status), State: dibs.State(n.State), Epoch: n.Epoch, Entity: n.Entity.Entity(), Version: n.Version, Archived: n.Archived,
		Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: n.Meta,
		CreatedAt: ParseTime(n.CreatedAt), ExpiresAt: ParseTime(n.ExpiresAt), ConfirmedAt: ParseTime(n.ConfirmedAt),
		EndedAt: ParseTime(n.EndedAt), Until: ParseTime(n.Until), Doubt: n.Doubt,
		Asked: n.Asked, AskAt: ParseTime(n.AskAt), Remaining: Duration(n.RemainingMs),
	}, nil
}

// optionalName converts a name that may be absent, which is nil.
func optionalName(n *dibs.Name) *Name {
	if n == nil {
		return nil
	}
	w := NameOf(*n)
	return &w
}

// optional returns the library's name; nil for nil.
func (n *Name) optional() (*dibs.Name, error) {
	if n == nil {
		return nil, nil
	}
	name, err := n.Name()
	return &name, err
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime formats a time as the API does, in UTC with milliseconds; empty for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// ParseTime is the inverse of FormatTime; the zero time for an invalid text.
func ParseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// maxMs is the largest number of milliseconds in a time.Duration.
const maxMs = math.MaxInt64 / int64(time.Millisecond)

// Duration converts milliseconds. It does not overflow: beyond the range it returns the longest
// duration.
func Duration(ms int64) time.Duration {
	return time.Duration(max(-maxMs, min(ms, maxMs))) * time.Millisecond
}

// RetryAfter reads the header Retry-After: seconds or a date. It returns zero for anything else.
func RetryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // then it is the greatest
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

// Result is what a command did, or would do in a dry run.
type Result struct {
	Names       []Name   `json:"names" nullable:"false" doc:"The names that the command is about, as they are after it."`
	Token       string   `json:"token,omitempty" doc:"For a reserve: the proof of the hold."`
	Replayed    bool     `json:"replayed"`
	Version     uint64   `json:"version,omitempty" doc:"The entity's version."`
	Freed       []string `json:"freed,omitempty" nullable:"false" doc:"Keys that are free now."`
	Quarantined []string `json:"quarantined,omitempty" nullable:"false" doc:"Keys that are in quarantine now."`
	Pending     bool     `json:"pending,omitempty" doc:"The entity has more names, which follow in batches."`
	Events      []Event  `json:"events,omitempty" nullable:"false" doc:"In a dry run: the events that the command would record, in order, without cursors."`
}

// ResultOf converts a result.
func ResultOf(r dibs.Result) Result {
	names := NamesOf(r.Names)
	for i := range names {
		names[i].Replayed = r.Replayed
	}
	return Result{
		Names: names, Token: r.Token, Replayed: r.Replayed, Version: r.Version,
		Freed: r.Freed, Quarantined: r.Quarantined, Pending: r.Pending, Events: EventsOf(r.Events),
	}
}

// Result returns the library's result.
func (r Result) Result() (dibs.Result, error) {
	names, err := namesFrom(r.Names)
	if err != nil {
		return dibs.Result{}, err
	}
	events, err := listFrom(r.Events, Event.Event)
	return dibs.Result{
		Names: names, Token: r.Token, Replayed: r.Replayed, Version: r.Version,
		Freed: r.Freed, Quarantined: r.Quarantined, Pending: r.Pending, Events: events,
	}, err
}

// EventKinds returns all kinds of event.
func EventKinds() []dibs.EventKind {
	return []dibs.EventKind{
		dibs.EventReserved, dibs.EventExtended, dibs.EventConfirmed, dibs.EventClaimed, dibs.EventImported, dibs.EventReleased, dibs.EventExpired,
		dibs.EventSuspected, dibs.EventDemoted, dibs.EventRevived, dibs.EventRespelled, dibs.EventGivenUp, dibs.EventUnlocked,
		dibs.EventTransferred, dibs.EventMoved, dibs.EventForgotten, dibs.EventArchived, dibs.EventRestored, dibs.EventDeleted,
	}
}

// Event is one committed change.
type Event struct {
	Cursor        string            `json:"cursor" doc:"The position in the feed after this event: resume here. Empty in a dry run."`
	Kind          string            `json:"kind" doc:"What happened." example:"confirmed"`
	At            string            `json:"at" format:"date-time"`
	ReservationID string            `json:"reservationId,omitempty"`
	Key           string            `json:"key,omitempty"`
	Namespace     string            `json:"namespace,omitempty"`
	Canonical     string            `json:"canonical,omitempty"`
	Value         string            `json:"value,omitempty"`
	Revision      uint64            `json:"revision,omitempty" doc:"Increases with each event of a name."`
	Epoch         uint64            `json:"epoch,omitempty"`
	Before        *Snapshot         `json:"before,omitempty"`
	After         *Snapshot         `json:"after,omitempty"`
	Scope         string            `json:"scope,omitempty"`
	Entity        *Entity           `json:"entity,omitempty"`
	Version       uint64            `json:"version,omitempty"`
	Actor         string            `json:"actor,omitempty" doc:"The principal that made the change; empty for the registry itself."`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
}

// Snapshot is a name's state at one moment.
type Snapshot struct {
	State  string  `json:"state,omitempty"`
	Status string  `json:"status,omitempty"`
	Epoch  uint64  `json:"epoch,omitempty"`
	Entity *Entity `json:"entity,omitempty"`
	Until  string  `json:"until,omitempty" format:"date-time"`
}

// EventOf converts an event.
func EventOf(e dibs.Event) Event {
	return Event{
		Cursor: string(e.Cursor), Kind: string(e.Kind), At: FormatTime(e.At.Time()),
		ReservationID: e.ID.String(), Key: e.Key(), Namespace: e.Namespace, Canonical: e.Canonical, Value: e.Value,
		Revision: e.Rev, Epoch: e.Epoch, Before: snapshotOf(e.Before), After: snapshotOf(e.After),
		Scope: e.Scope, Entity: EntityOf(e.Entity), Version: e.Version,
		Actor: e.Actor, CorrelationID: e.CorrelationID, Meta: e.Meta,
	}
}

// Event returns the library's event.
func (e Event) Event() (dibs.Event, error) {
	event := dibs.Event{
		Cursor: dibs.Cursor(e.Cursor), Kind: dibs.EventKind(e.Kind), At: dibs.InstantOf(ParseTime(e.At)),
		Namespace: e.Namespace, Canonical: e.Canonical, Value: e.Value, Rev: e.Revision, Epoch: e.Epoch,
		Before: e.Before.snapshot(), After: e.After.snapshot(), Scope: e.Scope, Entity: e.Entity.Entity(), Version: e.Version,
		Actor: e.Actor, CorrelationID: e.CorrelationID, Meta: e.Meta,
	}
	if e.ReservationID != "" {
		id, err := dibs.ParseID(e.ReservationID)
		if err != nil {
			return dibs.Event{}, fmt.Errorf("the event before %s: %w", e.Cursor, err)
		}
		event.ID = id
	}
	return event, nil
}

func snapshotOf(s dibs.Snapshot) *Snapshot {
	if s == (dibs.Snapshot{}) {
		return nil
	}
	w := &Snapshot{State: string(s.State), Status: string(s.Status), Epoch: s.Epoch, Entity: EntityOf(s.Entity)}
	if s.Until != 0 {
		w.Until = FormatTime(s.Until.Time())
	}
	return w
}

func (s *Snapshot) snapshot() dibs.Snapshot {
	if s == nil {
		return dibs.Snapshot{}
	}
	snapshot := dibs.Snapshot{State: dibs.State(s.State), Status: dibs.Status(s.Status), Epoch: s.Epoch, Entity: s.Entity.Entity()}
	if s.Until != "" {
		snapshot.Until = dibs.InstantOf(ParseTime(s.Until))
	}
	return snapshot
}
