package pgstore

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
)

// compact omits a Status that follows from the State: every event stores two snapshots.
func compact(s dibs.Snapshot) dibs.Snapshot {
	if s.Status == statusOf(s.State) {
		s.Status = ""
	}
	return s
}

// expand is the inverse of compact.
func expand(s dibs.Snapshot) dibs.Snapshot {
	s.Status = cmp.Or(s.Status, statusOf(s.State))
	return s
}

// statusOf returns the status that follows from the state; empty if several are possible.
func statusOf(s dibs.State) dibs.Status {
	switch s {
	case dibs.Held:
		return dibs.StatusReserved
	case dibs.Suspect:
		return dibs.StatusSuspect
	case dibs.Active, dibs.Alias:
		return dibs.StatusConfirmed
	default:
		return ""
	}
}

// eventBody is the part of an event that engines store without columns of its own. The JSON
// names are short because every name has at least two events.
type eventBody struct {
	Canonical     string            `json:"c,omitempty"`
	Value         string            `json:"v,omitempty"` // only if it differs from Canonical
	Before        dibs.Snapshot     `json:"b,omitzero"`
	After         dibs.Snapshot     `json:"a,omitzero"`
	Scope         string            `json:"p,omitempty"` // only if there is no namespace
	Entity        dibs.Entity       `json:"o,omitzero"`  // only if After has another one
	Version       uint64            `json:"n,omitempty"`
	Actor         string            `json:"w,omitempty"`
	CorrelationID string            `json:"i,omitempty"`
	Meta          map[string]string `json:"m,omitempty"`
}

// encodeBody returns the part of the event that engines store unchanged: all but Cursor, Kind,
// At, ID, Namespace and Rev, for which engines have columns.
func encodeBody(e *dibs.Event) ([]byte, error) {
	body := eventBody{
		Canonical: e.Canonical, Before: compact(e.Before), After: compact(e.After), Version: e.Version,
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

// decodeBody sets the fields that encodeBody encoded. Kind, At, ID, Namespace and Rev must
// already be set.
func decodeBody(e *dibs.Event, data []byte) error {
	var body eventBody
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("pgstore: the event of %s with revision %d is damaged: %w", e.ID, e.Rev, err)
	}
	e.Canonical, e.Value = body.Canonical, cmp.Or(body.Value, body.Canonical)
	e.Before, e.After, e.Epoch = expand(body.Before), expand(body.After), body.After.Epoch
	e.Entity, e.Version = cmp.Or(body.Entity, body.After.Entity), body.Version
	e.Scope = body.Scope
	if !e.ID.IsZero() {
		e.Scope = dibs.ScopeOf(e.Namespace)
	}
	e.Actor, e.CorrelationID, e.Meta = body.Actor, body.CorrelationID, body.Meta
	return nil
}
