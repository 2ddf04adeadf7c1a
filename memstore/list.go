package memstore

import (
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// listed is a record in a listing.
type listed struct {
	position dibs.ListPosition
	key      key
}

// listing returns the records of one kind by position. It sorts them once, and again after a
// record was added or removed.
func (s *Store) listing(kind dibs.Kind) []listed {
	all, ok := s.listings[kind]
	if ok || kind == dibs.KindEntity {
		return all
	}
	for k, r := range s.records {
		if k.kind == kind {
			all = append(all, listed{record.Position(r), k})
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return record.ComparePositions(a.position, b.position) })
	s.listings[kind] = all
	return all
}

// page returns the records that a query selects.
func (s *Store) page(query dibs.ListQuery) (page []dibs.Record) {
	all := s.listing(query.Kind)
	if query.After != nil {
		i, found := slices.BinarySearchFunc(all, *query.After, func(e listed, after dibs.ListPosition) int {
			return record.ComparePositions(e.position, after)
		})
		if found {
			i++
		}
		all = all[i:]
	}
	for _, e := range all {
		if len(page) >= query.Limit {
			break
		}
		if r := s.records[e.key]; record.IsSelected(query, r) {
			page = append(page, r)
		}
	}
	return page
}
