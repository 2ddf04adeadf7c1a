package wire

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// Event is one committed change.
type Event struct {
	Cursor        string            `json:"cursor" doc:"The position in the feed after this event: resume here."`
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
		Cursor: dibs.Cursor(e.Cursor), Kind: dibs.EventKind(e.Kind), At: dibs.InstantOf(parseTime(e.At)),
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
		snapshot.Until = dibs.InstantOf(parseTime(s.Until))
	}
	return snapshot
}
