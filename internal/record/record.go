// Package record reads what engines need from a record of any kind: its Due date, its
// position in a listing, whether an entity owns it, and how it counts.
package record

import (
	"cmp"
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

// Position returns the position of a record in the listing of its kind. It is zero for
// entities, which have no listing.
func Position(record dibs.Record) (position dibs.ListPosition) {
	switch r := record.(type) {
	case *dibs.NameRecord:
		position.Namespace, position.Label = r.Namespace, r.Canonical
	case *dibs.Document:
		position.Label = r.Label
	}
	return position
}

// ComparePositions compares byte by byte, the namespace first.
func ComparePositions(a, b dibs.ListPosition) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Label, b.Label))
}

// Owned reports whether Owner is the present owner of a name. A name that was given up
// keeps its last owner in the same field.
func Owned(name *dibs.NameRecord) bool {
	return name.State == dibs.Active || name.State == dibs.Alias
}

// IsSelected reports whether a query selects a record of its kind, wherever the page begins.
func IsSelected(query dibs.ListQuery, record dibs.Record) bool {
	at := Position(record)
	if (query.Namespace != "" && at.Namespace != query.Namespace) || at.Label < query.From || (query.To != "" && at.Label >= query.To) {
		return false
	}
	name, isName := record.(*dibs.NameRecord)
	return len(query.States) == 0 || (isName && slices.Contains(query.States, name.State))
}

// Recount adds what the writes of a group change in the counts by namespace and state, whose
// keys have no Count. Free names do not count.
func Recount(counts map[dibs.NameCount]int, writes []dibs.Write) {
	for i := range writes {
		w := &writes[i]
		n, ok := w.Record.(*dibs.NameRecord)
		if !ok {
			continue
		}
		if w.Was != dibs.Free {
			counts[dibs.NameCount{Namespace: n.Namespace, State: w.Was}]--
		}
		if !w.Delete && n.State != dibs.Free {
			counts[dibs.NameCount{Namespace: n.Namespace, State: n.State}]++
		}
	}
}

// Counts returns counts as a list without zeros.
func Counts(counts map[dibs.NameCount]int) (list []dibs.NameCount) {
	for key, n := range counts {
		if key.Count = n; n != 0 {
			list = append(list, key)
		}
	}
	return list
}

// EndsSoon reports whether a name is held, and due at soon or before.
func EndsSoon(n *dibs.NameRecord, soon dibs.Instant) bool {
	return n.State == dibs.Held && n.Due != 0 && n.Due <= soon
}
