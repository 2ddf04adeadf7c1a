// Package record answers what every engine asks of a record: its Due date, its position in
// a listing, and whether an entity owns it.
package record

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Due returns the Due date of a record, or zero.
func Due(record dibs.Record) dibs.Instant {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return r.Due
	case *dibs.EntityRecord:
		return r.Due
	case *dibs.Document:
		return r.Due
	}
	return 0
}

// Position returns the position of a record in the listing of its kind. Entities are not
// listed: ok is false for them.
func Position(record dibs.Record) (position dibs.ListPosition, ok bool) {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return dibs.ListPosition{Namespace: r.Namespace, Label: r.Canonical}, true
	case *dibs.Document:
		return dibs.ListPosition{Label: r.Label}, true
	}
	return dibs.ListPosition{}, false
}

// Owned reports whether Owner is the present owner of a name. A name that was given up
// keeps its last owner in the same field.
func Owned(name *dibs.NameRecord) bool {
	return name.State == dibs.Active || name.State == dibs.Alias
}

// InStates reports whether a record passes the States filter of a query.
func InStates(states []dibs.State, record dibs.Record) bool {
	if len(states) == 0 {
		return true
	}
	name, ok := record.(*dibs.NameRecord)
	return ok && slices.Contains(states, name.State)
}
