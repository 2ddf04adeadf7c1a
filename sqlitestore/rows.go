package sqlitestore

import (
	"database/sql/driver"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/sqlrow"
)

const holdSize = 22 // the number of holdColumns

// nameRow is a name with what only its row has: a number, and its last event.
type nameRow struct {
	*dibs.NameRecord
	number, lastEvent int64
	isNew             bool // it has no row yet
}

// isNewHold reports whether the row is new and rareColumns are empty.
func (n *nameRow) isNewHold() bool {
	return n.isNew && n.Intended.IsZero() && n.CorrelationID == "" && len(n.Meta) == 0 &&
		n.Asked == 0 && n.AskAt == 0 && n.Doubt == "" && n.Owner.IsZero() &&
		n.ConfirmedAt == 0 && n.EndedAt == 0 && n.Line.IsZero() && n.Until == 0 && len(n.Links) == 0 && len(n.Spent) == 0
}

// appendHold appends a row of newHolds.
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
	var line, links, spent, owner any
	meta, err := sqlrow.JSON(n.Meta)
	if err != nil {
		return nil, err
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
	if record.Owned(n.NameRecord) {
		id := dibs.EntityID(n.Scope, n.Owner)
		owner = id[:]
	}
	args, err = appendHold(args, n)
	return append(args,
		textOrNull(n.Intended.Type), textOrNull(n.Intended.ID), textOrNull(n.CorrelationID), textOrNull(meta),
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
	return n, scanRare(n, row[holdSize:])
}

// scanRare reads rareColumns.
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
	return sqlrow.SetEncoded(n, asText(row[3]), asBytes(row[14]), asBytes(row[15]))
}

// appendEntity appends a row of table entities.
func appendEntity(args []any, e *dibs.EntityRecord) ([]any, error) {
	active, err := sqlrow.JSON(e.Active)
	return append(args, e.ID[:], int64(e.Rev), textOrNull(e.Scope), e.Entity.Type, e.Entity.ID,
		bit(e.Archived), bit(e.Deleted), textOrNull(active), intOrNull(e.Due)), err
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
	return e, sqlrow.SetActive(e, asText(row[7]))
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

// The helpers below turn zero values into NULL and back. NULL takes no space, and reads
// better in the sqlite3 shell.

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func intOrNull[T ~int64](i T) any {
	if i == 0 {
		return nil
	}
	return int64(i)
}

func bit(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

func asText(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func asInt(v driver.Value) int64 {
	i, _ := v.(int64)
	return i
}

func asBytes(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}
