package sqlitestore

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

const (
	heldColumns     = 22
	nameColumns     = heldColumns + 16
	entityColumns   = 9
	documentColumns = 7
)

// nameRow is a name with what only its row has: a number, and where its history
// ends.
type nameRow struct {
	*dibs.NameRecord
	number, lastEvent int64
	fresh             bool // it has no row yet
}

// plain reports whether the row is new and has nothing rare.
func (n *nameRow) plain() bool {
	return n.fresh && n.Intended.IsZero() && n.CorrelationID == "" && len(n.Meta) == 0 &&
		n.Asked == 0 && n.AskAt == 0 && n.Doubt == "" && n.Owner.IsZero() &&
		n.ConfirmedAt == 0 && n.EndedAt == 0 && n.Line.IsZero() && n.Until == 0 && len(n.Links) == 0 && len(n.Spent) == 0
}

// appendHold appends a row of table holds.
func appendHold(args []any, n *nameRow) ([]any, error) {
	var value, token any
	if n.Value != n.Canonical {
		value = n.Value
	}
	if !n.Token.IsZero() {
		token = n.Token[:]
	}
	return append(args, n.number, intOrNull(n.lastEvent),
		n.ID[:], int64(n.Rev), n.Namespace, n.Canonical, value, textOrNull(n.Profile),
		string(n.State), string(n.Status), int64(n.Epoch), intOrNull(n.CreatedAt),
		token, textOrNull(n.Principal), intOrNull(n.ExpiresAt),
		bit(n.Terms.Witnessed), bit(n.Terms.Many), bit(n.Terms.Counted),
		intOrNull(n.Terms.Quarantine/time.Millisecond), intOrNull(n.Terms.HoldHistory/time.Millisecond),
		bit(n.Established), intOrNull(n.Due)), nil
}

// appendName appends a row of table names.
func appendName(args []any, n *nameRow) ([]any, error) {
	var meta, line, links, spent, owner any
	if len(n.Meta) > 0 {
		text, err := json.Marshal(n.Meta)
		if err != nil {
			return nil, err
		}
		meta = string(text)
	}
	if !n.Line.IsZero() {
		line = n.Line[:]
	}
	if len(n.Links) > 0 {
		links = dibs.EncodeLinks(n.Links)
	}
	if len(n.Spent) > 0 {
		spent = dibs.EncodeSpent(n.Spent)
	}
	if n.State == dibs.Active || n.State == dibs.Alias {
		id := dibs.EntityID(n.Scope, n.Owner)
		owner = id[:]
	}
	args, err := appendHold(args, n)
	return append(args,
		textOrNull(n.Intended.Type), textOrNull(n.Intended.ID), textOrNull(n.CorrelationID), meta,
		int64(n.Asked), intOrNull(n.AskAt), textOrNull(n.Doubt),
		textOrNull(n.Owner.Type), textOrNull(n.Owner.ID), owner,
		intOrNull(n.ConfirmedAt), intOrNull(n.EndedAt), line, intOrNull(n.Until), links, spent), err
}

// scanName reads a row of table names.
func scanName(row []driver.Value) (dibs.Record, error) {
	n := &dibs.NameRecord{
		Rev:       uint64(asInt(row[3])),
		Namespace: asText(row[4]),
		Canonical: asText(row[5]),
		Value:     asText(row[6]),
		Profile:   asText(row[7]),
		State:     dibs.State(asText(row[8])),
		Status:    dibs.Status(asText(row[9])),
		Epoch:     uint64(asInt(row[10])),
		CreatedAt: dibs.Instant(asInt(row[11])),
		Principal: asText(row[13]),
		ExpiresAt: dibs.Instant(asInt(row[14])),
		Terms: dibs.Terms{
			Witnessed:   asInt(row[15]) == 1,
			Many:        asInt(row[16]) == 1,
			Counted:     asInt(row[17]) == 1,
			Quarantine:  time.Duration(asInt(row[18])) * time.Millisecond,
			HoldHistory: time.Duration(asInt(row[19])) * time.Millisecond,
		},
		Established: asInt(row[20]) == 1,
		Due:         dibs.Instant(asInt(row[21])),
	}
	copy(n.ID[:], asBytes(row[2]))
	copy(n.Token[:], asBytes(row[12]))
	n.Scope = dibs.ScopeOf(n.Namespace)
	if row[6] == nil {
		n.Value = n.Canonical
	}
	return n, scanRare(n, row[heldColumns:])
}

// scanRare reads the columns that first reservations leave empty.
func scanRare(n *dibs.NameRecord, row []driver.Value) error {
	n.Intended = dibs.Entity{Type: asText(row[0]), ID: asText(row[1])}
	n.CorrelationID = asText(row[2])
	n.Asked = int(asInt(row[4]))
	n.AskAt = dibs.Instant(asInt(row[5]))
	n.Doubt = asText(row[6])
	n.Owner = dibs.Entity{Type: asText(row[7]), ID: asText(row[8])}
	n.ConfirmedAt = dibs.Instant(asInt(row[10]))
	n.EndedAt = dibs.Instant(asInt(row[11]))
	n.Until = dibs.Instant(asInt(row[13]))
	copy(n.Line[:], asBytes(row[12]))
	if meta := asText(row[3]); meta != "" {
		if err := json.Unmarshal([]byte(meta), &n.Meta); err != nil {
			return fmt.Errorf("the meta of %s is damaged: %w", n.ID, err)
		}
	}
	var err error
	if n.Links, err = dibs.DecodeLinks(asBytes(row[14])); err != nil {
		return err
	}
	n.Spent, err = dibs.DecodeSpent(asBytes(row[15]))
	return err
}

// appendEntity appends a row of table entities.
func appendEntity(args []any, e *dibs.EntityRecord) ([]any, error) {
	var active any
	if len(e.Active) > 0 {
		text, err := json.Marshal(e.Active)
		if err != nil {
			return nil, err
		}
		active = string(text)
	}
	return append(args, e.ID[:], int64(e.Rev), textOrNull(e.Scope), e.Entity.Type, e.Entity.ID,
		bit(e.Archived), bit(e.Deleted), active, intOrNull(e.Due)), nil
}

// scanEntity reads a row of table entities.
func scanEntity(row []driver.Value) (dibs.Record, error) {
	e := &dibs.EntityRecord{
		Rev:      uint64(asInt(row[1])),
		Scope:    asText(row[2]),
		Entity:   dibs.Entity{Type: asText(row[3]), ID: asText(row[4])},
		Archived: asInt(row[5]) == 1,
		Deleted:  asInt(row[6]) == 1,
		Due:      dibs.Instant(asInt(row[8])),
	}
	copy(e.ID[:], asBytes(row[0]))
	if active := asText(row[7]); active != "" {
		if err := json.Unmarshal([]byte(active), &e.Active); err != nil {
			return nil, fmt.Errorf("the active names of entity %s are damaged: %w", e.Entity, err)
		}
	}
	return e, nil
}

// appendDocument appends a row of table documents.
func appendDocument(args []any, d *dibs.Document) ([]any, error) {
	var data any
	if len(d.Data) > 0 {
		data = d.Data
	}
	return append(args, string(d.Kind), d.ID[:], int64(d.Rev), textOrNull(d.Scope), d.Label, intOrNull(d.Due), data), nil
}

// scanDocument reads a row of table documents.
func scanDocument(row []driver.Value) (dibs.Record, error) {
	d := &dibs.Document{
		Kind:  dibs.Kind(asText(row[0])),
		Rev:   uint64(asInt(row[2])),
		Scope: asText(row[3]),
		Label: asText(row[4]),
		Due:   dibs.Instant(asInt(row[5])),
		Data:  asBytes(row[6]),
	}
	copy(d.ID[:], asBytes(row[1]))
	return d, nil
}
