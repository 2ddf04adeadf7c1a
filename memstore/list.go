package memstore

import (
	"cmp"
	"slices"

	"github.com/calldibs/dibs"
)

// position is a record's place in a listing.
type position struct {
	namespace string
	label     string
}

// compare orders positions byte by byte, namespace first.
func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.namespace, q.namespace), cmp.Compare(p.label, q.label))
}

func positionOf(record dibs.Record) position {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return position{r.Namespace, r.Canonical}
	case *dibs.Document:
		return position{"", r.Label}
	}
	return position{}
}

// listing keeps the order of each kind's records. It is sorted when somebody
// lists, and kept until a record comes or goes.
type listing struct {
	sorted map[dibs.Kind][]place
}

// place is where a record stands.
type place struct {
	position position
	key      key
}

func newListing() listing { return listing{sorted: make(map[dibs.Kind][]place)} }

// changed forgets a kind's order.
func (l *listing) changed(kind dibs.Kind) { delete(l.sorted, kind) }

// order returns the places of one kind, in order.
func (l *listing) order(kind dibs.Kind, records map[key]dibs.Record) []place {
	if places, ok := l.sorted[kind]; ok {
		return places
	}
	places := []place{}
	for k, record := range records {
		if k.kind == kind && kind != dibs.KindEntity {
			places = append(places, place{positionOf(record), k})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return a.position.compare(b.position) })
	l.sorted[kind] = places
	return places
}

// page returns what a query selects.
func (l *listing) page(query dibs.ListQuery, records map[key]dibs.Record) []dibs.Record {
	places := l.order(query.Kind, records)
	if query.After != nil {
		after := position{query.After.Namespace, query.After.Label}
		i, found := slices.BinarySearchFunc(places, after, func(p place, q position) int {
			return p.position.compare(q)
		})
		if found {
			i++
		}
		places = places[i:]
	}
	var page []dibs.Record
	for _, p := range places {
		if len(page) >= query.Limit {
			break
		}
		if record := records[p.key]; selects(query, p.position, record) {
			page = append(page, record)
		}
	}
	return page
}

// selects reports whether a query wants a record, wherever the page begins.
func selects(query dibs.ListQuery, at position, record dibs.Record) bool {
	if query.Namespace != "" && at.namespace != query.Namespace {
		return false
	}
	if at.label < query.From || (query.To != "" && at.label >= query.To) {
		return false
	}
	if len(query.States) == 0 {
		return true
	}
	name, ok := record.(*dibs.NameRecord)
	return ok && slices.Contains(query.States, name.State)
}
