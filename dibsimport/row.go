package dibsimport

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// Record is a row as a source has it.
type Record struct {
	Where  string            // for messages, such as "line 12"
	Fields map[string]string // by column; a column that is absent or NULL has none
}

// Source reads records, one after the other.
type Source interface {
	// Next returns the next record, or io.EOF after the last one. Any other error ends the import.
	Next() (Record, error)
	// Columns returns the columns in order. It may be called after the first Next, and is nil for
	// a source whose records have columns of their own.
	Columns() []string
}

// Row is a record that was understood.
type Row struct {
	Record
	dibs.Import
	Archived bool // the entity is archived, after its names were entered

	unreadable *dibs.Error // why it cannot be entered

	original string // the value without the number that it got
	suffix   int
}

// Mapping says what the columns of a source mean. An empty column is guessed from the names of the
// columns; a column that is not there and not needed is left out.
type Mapping struct {
	// Namespace and EntityType are the same for all rows. If they are empty, the columns have
	// them.
	Namespace, EntityType string

	// The names of columns.
	NamespaceColumn, EntityTypeColumn string
	Value, EntityID                   string
	AliasOf, Archived, Since          string

	// OverrideReserved enters reserved words too. The caller needs the right.
	OverrideReserved bool
}

// guesses are names of columns that mean what a field of a mapping says, the best first.
var guesses = struct{ namespace, entityType, value, entityID, aliasOf, archived, since []string }{
	namespace:  []string{"namespace"},
	entityType: []string{"entity_type", "owner_type"},
	value:      []string{"value", "name", "slug", "username", "user_name", "handle", "login", "email", "hostname", "domain"},
	entityID:   []string{"entity_id", "owner_id", "id", "user_id", "account_id"},
	aliasOf:    []string{"alias_of", "redirects_to"},
	archived:   []string{"archived", "archived_at"},
	since:      []string{"since", "created_at", "created", "inserted_at"},
}

// MappingError says that a mapping does not fit the columns of a source.
type MappingError struct {
	Problem string
	Columns []string
}

// Error says what is missing, and which columns there are.
func (e *MappingError) Error() string {
	if len(e.Columns) == 1 && strings.ContainsAny(e.Columns[0], ";|\t") {
		return fmt.Sprintf("%s; the only column is %q: separate columns by commas, or by tabs with --format tsv", e.Problem, e.Columns[0])
	}
	return e.Problem + "; the columns are " + strings.Join(e.Columns, ", ")
}

// Resolve returns the mapping with all columns set that these columns allow. It fails if a column
// that the mapping names is not there, or if one that is needed cannot be guessed.
func (m Mapping) Resolve(columns []string) (Mapping, error) {
	m = m.guess(columns)
	if err := m.checkNeeded(); err != nil {
		return m, &MappingError{err.Error(), columns}
	}
	for _, column := range []string{m.NamespaceColumn, m.EntityTypeColumn, m.Value, m.EntityID, m.AliasOf, m.Archived, m.Since} {
		if column != "" && !slices.Contains(columns, column) {
			return m, &MappingError{fmt.Sprintf("there is no column %q", column), columns}
		}
	}
	return m, nil
}

func (m Mapping) guess(columns []string) Mapping {
	guess := func(set *string, names ...string) {
		for _, name := range names {
			if *set == "" && slices.Contains(columns, name) {
				*set = name
			}
		}
	}
	if m.Namespace == "" {
		guess(&m.NamespaceColumn, guesses.namespace...)
	}
	if m.EntityType == "" {
		guess(&m.EntityTypeColumn, guesses.entityType...)
	}
	guess(&m.Value, m.Namespace[strings.LastIndexByte(m.Namespace, '.')+1:]) // the type of the namespace
	guess(&m.Value, guesses.value...)
	guess(&m.EntityID, m.EntityType+"_id")
	guess(&m.EntityID, guesses.entityID...)
	guess(&m.AliasOf, guesses.aliasOf...)
	guess(&m.Archived, guesses.archived...)
	guess(&m.Since, guesses.since...)
	return m
}

func (m Mapping) checkNeeded() error {
	for _, needed := range []struct{ what, set string }{
		{"the namespace", cmp.Or(m.Namespace, m.NamespaceColumn)},
		{"the type of the entities", cmp.Or(m.EntityType, m.EntityTypeColumn)},
		{"the name", m.Value},
		{"the id of the entities", m.EntityID},
	} {
		if needed.set == "" {
			return fmt.Errorf("no column is known to be %s", needed.what)
		}
	}
	return nil
}

// rowReader makes rows of the records of a source.
type rowReader struct {
	mapping  Mapping
	resolved bool     // the mapping is
	columns  []string // of the last record
}

// read makes a row of a record. Without columns, every record has its own. The error says that the mapping does not fit the source; what is
// wrong with the record alone is in the row.
func (r *rowReader) read(columns []string, record Record) (Row, error) {
	mapping := r.mapping
	switch {
	case columns == nil:
		r.columns = slices.Sorted(maps.Keys(record.Fields))
		mapping = mapping.guess(r.columns)
	case !r.resolved:
		var err error
		if mapping, err = mapping.Resolve(columns); err != nil {
			return Row{}, err
		}
		r.mapping, r.columns, r.resolved = mapping, columns, true
	}
	row, err := mapping.row(record)
	if err != nil {
		row.unreadable = &dibs.Error{Code: dibs.CodeInvalidValue, Namespace: row.Namespace, Message: err.Error()}
	}
	return row, nil
}

// row reads a record by a resolved mapping. The error says what is wrong with the record.
func (m *Mapping) row(r Record) (Row, error) {
	row := Row{Record: r, Import: dibs.Import{
		Namespace: cmp.Or(m.Namespace, r.Fields[m.NamespaceColumn]), Value: r.Fields[m.Value],
		Entity:  dibs.Entity{Type: cmp.Or(m.EntityType, r.Fields[m.EntityTypeColumn]), ID: r.Fields[m.EntityID]},
		AliasOf: r.Fields[m.AliasOf], OverrideReserved: m.OverrideReserved,
	}}
	err := m.checkNeeded()
	switch {
	case err != nil:
	case row.Value == "":
		err = fmt.Errorf("the column %s is empty", m.Value)
	case row.Entity.ID == "":
		err = fmt.Errorf("the column %s is empty", m.EntityID)
	}
	row.Archived = isTrue(r.Fields[m.Archived])
	if text := r.Fields[m.Since]; text != "" {
		since, invalid := parseTime(text)
		row.Since, err = since, cmp.Or(err, invalid)
	}
	return row, err
}

// isTrue reports whether a text means yes. A date is one: systems store when an entity was archived.
func isTrue(text string) bool {
	switch strings.ToLower(text) {
	case "", "0", "f", "false", "n", "no", "null", "off":
		return false
	}
	return true
}

// timeLayouts are how databases and programs write a time. Without a zone it is UTC.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02",
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	// Seconds or milliseconds since 1970.
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		const inMilliseconds = 100_000_000_000 // as seconds it would be after the year 5000
		if n >= inMilliseconds {
			return time.UnixMilli(n), nil
		}
		return time.Unix(n, 0), nil
	}
	return time.Time{}, errors.New("cannot read the time " + strconv.Quote(text) + ": write it like 2026-03-01T12:00:00Z")
}
