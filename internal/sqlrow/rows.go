package sqlrow

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// Table describes the table of a kind of record.
type Table struct {
	Name    string
	Key     []string // the columns that identify a row
	Fixed   []string // the columns that never change, the key among them
	Columns []Column
	New     func() Row // returns an empty row
}

// Column is a column of a table, and where a row has its value.
type Column struct {
	Name   string
	OrNull bool // NULL stands for Go's zero value: it takes no space, and reads better in a shell
	Rare   bool // the first reservation of a name seldom sets it

	// At returns a pointer into the row: *string, *int64, *uint64, *int, *bool, *dibs.ID or *[]byte.
	At func(row Row) any
}

// Row is a [*Name], an [*Entity] or a [*Document]: a record with the values of its columns.
type Row interface {
	// Revision returns the revision of the row, or 0 for an empty one.
	Revision() uint64
	// Record returns the record of a row that was read. The record is a part of the row.
	Record() (dibs.Record, error)
}

// NewRow returns the row of a record.
func NewRow(r dibs.Record) (Row, error) {
	switch r := r.(type) {
	case *dibs.NameRecord:
		return newName(r)
	case *dibs.EntityRecord:
		active, err := encode(r.Active)
		return &Entity{*r, active}, err
	default:
		return &Document{*r.(*dibs.Document)}, nil
	}
}

func required[R any](name string, at func(*R) any) Column {
	return Column{Name: name, At: func(row Row) any { return at(any(row).(*R)) }}
}

func optional[R any](name string, at func(*R) any) Column {
	c := required(name, at)
	c.OrNull = true
	return c
}

func rare(name string, at func(*Name) any) Column {
	c := optional(name, at)
	c.Rare = true
	return c
}

// Name is a row of dibs_names. The fields beside the record are what the record has in another
// form.
type Name struct {
	dibs.NameRecord
	value, meta             string
	token, links, spent     []byte
	quarantine, holdHistory int64   // milliseconds
	owner                   dibs.ID // of the present owner
}

// Names is the table of names.
var Names = &Table{"dibs_names", []string{"id"}, []string{"id", "namespace", "canonical"}, []Column{
	required("id", func(n *Name) any { return &n.ID }),
	required("rev", func(n *Name) any { return &n.Rev }),
	required("namespace", func(n *Name) any { return &n.Namespace }),
	required("canonical", func(n *Name) any { return &n.Canonical }),
	optional("value", func(n *Name) any { return &n.value }),
	optional("profile", func(n *Name) any { return &n.Profile }),
	required("state", func(n *Name) any { return (*string)(&n.State) }),
	required("status", func(n *Name) any { return (*string)(&n.Status) }),
	required("epoch", func(n *Name) any { return &n.Epoch }),
	optional("created_at", func(n *Name) any { return (*int64)(&n.CreatedAt) }),
	optional("token", func(n *Name) any { return &n.token }),
	optional("principal", func(n *Name) any { return &n.Principal }),
	optional("expires_at", func(n *Name) any { return (*int64)(&n.ExpiresAt) }),
	required("witnessed", func(n *Name) any { return &n.Terms.Witnessed }),
	required("many", func(n *Name) any { return &n.Terms.Many }),
	required("counted", func(n *Name) any { return &n.Terms.Counted }),
	optional("quarantine_ms", func(n *Name) any { return &n.quarantine }),
	optional("hold_history_ms", func(n *Name) any { return &n.holdHistory }),
	required("established", func(n *Name) any { return &n.Established }),
	optional("due", func(n *Name) any { return (*int64)(&n.Due) }),
	rare("intended_type", func(n *Name) any { return &n.Intended.Type }),
	rare("intended_id", func(n *Name) any { return &n.Intended.ID }),
	rare("correlation_id", func(n *Name) any { return &n.CorrelationID }),
	rare("meta", func(n *Name) any { return &n.meta }),
	rare("asked", func(n *Name) any { return &n.Asked }),
	rare("ask_at", func(n *Name) any { return (*int64)(&n.AskAt) }),
	rare("doubt", func(n *Name) any { return &n.Doubt }),
	rare("owner_type", func(n *Name) any { return &n.Owner.Type }),
	rare("owner_id", func(n *Name) any { return &n.Owner.ID }),
	rare("owner", func(n *Name) any { return &n.owner }),
	rare("confirmed_at", func(n *Name) any { return (*int64)(&n.ConfirmedAt) }),
	rare("ended_at", func(n *Name) any { return (*int64)(&n.EndedAt) }),
	rare("line", func(n *Name) any { return &n.Line }),
	rare("until", func(n *Name) any { return (*int64)(&n.Until) }),
	rare("links", func(n *Name) any { return &n.links }),
	rare("spent", func(n *Name) any { return &n.spent }),
}, func() Row { return new(Name) }}

func newName(n *dibs.NameRecord) (_ *Name, err error) {
	r := &Name{
		NameRecord: *n, links: dibs.EncodeLinks(n.Links), spent: record.EncodeSpent(n.Spent),
		quarantine: n.Terms.Quarantine.Milliseconds(), holdHistory: n.Terms.HoldHistory.Milliseconds(),
	}
	if n.Value != n.Canonical {
		r.value = n.Value
	}
	if !n.Token.IsZero() {
		r.token = r.Token[:]
	}
	if record.Owned(n) {
		r.owner = dibs.EntityID(n.Scope, n.Owner)
	}
	r.meta, err = encode(n.Meta)
	return r, err
}

// Record returns the record of a row that was read.
func (r *Name) Record() (_ dibs.Record, err error) {
	n := &r.NameRecord
	n.Scope = dibs.ScopeOf(n.Namespace)
	if n.Value = r.value; n.Value == "" {
		n.Value = n.Canonical
	}
	copy(n.Token[:], r.token)
	n.Terms.Quarantine = time.Duration(r.quarantine) * time.Millisecond
	n.Terms.HoldHistory = time.Duration(r.holdHistory) * time.Millisecond
	if err := decode(r.meta, &n.Meta); err != nil {
		return n, fmt.Errorf("the meta column of name %s is damaged: %w", n.ID, err)
	}
	if n.Links, err = dibs.DecodeLinks(r.links); err != nil {
		return n, err
	}
	n.Spent, err = record.DecodeSpent(r.spent)
	return n, err
}

// Entity is a row of dibs_entities.
type Entity struct {
	dibs.EntityRecord
	active string
}

// Entities is the table of entities.
var Entities = &Table{"dibs_entities", []string{"id"}, []string{"id", "scope", "type", "entity_id"}, []Column{
	required("id", func(e *Entity) any { return &e.ID }),
	required("rev", func(e *Entity) any { return &e.Rev }),
	optional("scope", func(e *Entity) any { return &e.Scope }),
	required("type", func(e *Entity) any { return &e.Entity.Type }),
	required("entity_id", func(e *Entity) any { return &e.Entity.ID }),
	required("archived", func(e *Entity) any { return &e.Archived }),
	required("deleted", func(e *Entity) any { return &e.Deleted }),
	optional("active", func(e *Entity) any { return &e.active }),
	optional("due", func(e *Entity) any { return (*int64)(&e.Due) }),
}, func() Row { return new(Entity) }}

// Record returns the record of a row that was read.
func (e *Entity) Record() (dibs.Record, error) {
	if err := decode(e.active, &e.Active); err != nil {
		return nil, fmt.Errorf("the active column of entity %s is damaged: %w", e.Entity, err)
	}
	return &e.EntityRecord, nil
}

// Document is a row of dibs_documents.
type Document struct{ dibs.Document }

// Documents is the table of all other records.
var Documents = &Table{"dibs_documents", []string{"kind", "id"}, []string{"kind", "id", "scope"}, []Column{
	required("kind", func(d *Document) any { return (*string)(&d.Kind) }),
	required("id", func(d *Document) any { return &d.ID }),
	required("rev", func(d *Document) any { return &d.Rev }),
	optional("scope", func(d *Document) any { return &d.Scope }),
	required("label", func(d *Document) any { return &d.Label }),
	optional("due", func(d *Document) any { return (*int64)(&d.Due) }),
	optional("data", func(d *Document) any { return &d.Data }),
}, func() Row { return new(Document) }}

// Record returns the record of a row that was read.
func (d *Document) Record() (dibs.Record, error) {
	if len(d.Data) == 0 {
		d.Data = nil
	}
	return &d.Document, nil
}

// encode returns the text of a map column, which is empty for an empty map.
func encode[V any](m map[string]V) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	data, err := json.Marshal(m)
	return string(data), err
}

func decode[V any](text string, m *map[string]V) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), m)
}

// DueRef returns the ref of a row that is due. For a name, scope is its namespace.
func DueRef(kind, scope string, id dibs.ID) dibs.Ref {
	ref := dibs.Ref{Kind: dibs.Kind(kind), Scope: scope, ID: id}
	if ref.Kind == dibs.KindName {
		ref.Scope = dibs.ScopeOf(scope)
	}
	return ref
}
