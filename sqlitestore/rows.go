package sqlitestore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

const (
	nameColumns     = 35
	entityColumns   = 9
	documentColumns = 7
)

// nameRow is a name with its row's number.
type nameRow struct {
	*dibs.NameRecord
	number int64
}

// appendName appends a row of table names.
func appendName(args []any, n nameRow) ([]any, error) {
	var value, meta, token, line, owner any
	if n.Value != n.Canonical {
		value = n.Value
	}
	if len(n.Meta) > 0 {
		text, err := json.Marshal(n.Meta)
		if err != nil {
			return nil, err
		}
		meta = string(text)
	}
	if !n.Token.IsZero() {
		token = n.Token[:]
	}
	if !n.Line.IsZero() {
		line = n.Line[:]
	}
	if n.State == dibs.Active || n.State == dibs.Alias {
		id := dibs.EntityID(n.Scope, n.Owner)
		owner = id[:]
	}
	return append(args,
		n.ID[:], int64(n.Rev), n.Namespace, n.Canonical, value, textOrNull(n.Profile),
		string(n.State), string(n.Status), int64(n.Epoch), intOrNull(n.CreatedAt),
		token, textOrNull(n.Principal), textOrNull(n.Intended.Type), textOrNull(n.Intended.ID),
		textOrNull(n.CorrelationID), meta, intOrNull(n.ExpiresAt), int64(n.Asked), intOrNull(n.AskAt), textOrNull(n.Doubt),
		textOrNull(n.Owner.Type), textOrNull(n.Owner.ID), owner, intOrNull(n.ConfirmedAt), intOrNull(n.EndedAt),
		line, intOrNull(n.Until), bit(n.Terms.Witnessed), bit(n.Terms.Many), bit(n.Terms.Counted),
		intOrNull(n.Terms.Quarantine/time.Millisecond), intOrNull(n.Terms.HoldHistory/time.Millisecond),
		bit(n.Established), intOrNull(n.Due), n.number), nil
}

// scanName reads a row of table names.
func scanName(row []any) (dibs.Record, error) {
	n := &dibs.NameRecord{
		Rev:           uint64(asInt(row[1])),
		Namespace:     asText(row[2]),
		Canonical:     asText(row[3]),
		Value:         asText(row[4]),
		Profile:       asText(row[5]),
		State:         dibs.State(asText(row[6])),
		Status:        dibs.Status(asText(row[7])),
		Epoch:         uint64(asInt(row[8])),
		CreatedAt:     dibs.Instant(asInt(row[9])),
		Principal:     asText(row[11]),
		Intended:      dibs.Entity{Type: asText(row[12]), ID: asText(row[13])},
		CorrelationID: asText(row[14]),
		ExpiresAt:     dibs.Instant(asInt(row[16])),
		Asked:         int(asInt(row[17])),
		AskAt:         dibs.Instant(asInt(row[18])),
		Doubt:         asText(row[19]),
		Owner:         dibs.Entity{Type: asText(row[20]), ID: asText(row[21])},
		ConfirmedAt:   dibs.Instant(asInt(row[23])),
		EndedAt:       dibs.Instant(asInt(row[24])),
		Until:         dibs.Instant(asInt(row[26])),
		Terms: dibs.Terms{
			Witnessed:   asInt(row[27]) == 1,
			Many:        asInt(row[28]) == 1,
			Counted:     asInt(row[29]) == 1,
			Quarantine:  time.Duration(asInt(row[30])) * time.Millisecond,
			HoldHistory: time.Duration(asInt(row[31])) * time.Millisecond,
		},
		Established: asInt(row[32]) == 1,
		Due:         dibs.Instant(asInt(row[33])),
	}
	copy(n.ID[:], asBytes(row[0]))
	copy(n.Token[:], asBytes(row[10]))
	copy(n.Line[:], asBytes(row[25]))
	n.Scope = scopeOf(n.Namespace)
	if row[4] == nil {
		n.Value = n.Canonical
	}
	if meta := asText(row[15]); meta != "" {
		if err := json.Unmarshal([]byte(meta), &n.Meta); err != nil {
			return nil, fmt.Errorf("the meta of %s is damaged: %w", n.ID, err)
		}
	}
	return n, nil
}

// scopeOf returns what stands before a namespace's last segment.
func scopeOf(namespace string) string {
	return namespace[:max(0, strings.LastIndexByte(namespace, '.'))]
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
func scanEntity(row []any) (dibs.Record, error) {
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
func scanDocument(row []any) (dibs.Record, error) {
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
