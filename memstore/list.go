package memstore

import (
	"cmp"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

func positionOf(r dibs.Record) dibs.ListPosition {
	position, _ := record.Position(r)
	return position
}

// comparePositions orders positions byte by byte, namespace first.
func comparePositions(a, b dibs.ListPosition) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Label, b.Label))
}

// listing has the order of the records of each kind. A listing sorts them, and the order stays
// until a record is added or removed.
type listing struct {
	sorted map[dibs.Kind][]listed
}

// listed is a record in a listing.
type listed struct {
	position dibs.ListPosition
	key      key
}

func newListing() listing { return listing{sorted: make(map[dibs.Kind][]listed)} }

// changed drops the order of a kind.
func (l *listing) changed(kind dibs.Kind) { delete(l.sorted, kind) }

// order returns the records of one kind, in order.
func (l *listing) order(kind dibs.Kind, records map[key]dibs.Record) []listed {
	if all, ok := l.sorted[kind]; ok {
		return all
	}
	all := []listed{}
	for k, r := range records {
		if k.kind == kind && kind != dibs.KindEntity {
			all = append(all, listed{positionOf(r), k})
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return comparePositions(a.position, b.position) })
	l.sorted[kind] = all
	return all
}

// page returns the records that a query selects.
func (l *listing) page(query dibs.ListQuery, records map[key]dibs.Record) []dibs.Record {
	all := l.order(query.Kind, records)
	if query.After != nil {
		i, found := slices.BinarySearchFunc(all, *query.After, func(e listed, after dibs.ListPosition) int {
			return comparePositions(e.position, after)
		})
		if found {
			i++
		}
		all = all[i:]
	}
	var page []dibs.Record
	for _, e := range all {
		if len(page) >= query.Limit {
			break
		}
		if r := records[e.key]; inBounds(query, e.position) && record.InStates(query.States, r) {
			page = append(page, r)
		}
	}
	return page
}

// inBounds reports whether a position is in the namespace and the bounds of a query.
func inBounds(query dibs.ListQuery, at dibs.ListPosition) bool {
	return (query.Namespace == "" || at.Namespace == query.Namespace) &&
		at.Label >= query.From && (query.To == "" || at.Label < query.To)
}
