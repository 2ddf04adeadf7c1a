package routestore

import (
	"cmp"
	"context"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// Due returns refs of records that are due in any part, earliest first. It loads the records,
// since refs have no dates.
func (s *Store) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if len(s.parts) == 1 {
		return s.parts[0].Due(ctx, limit)
	}
	var due []dibs.Record
	for _, p := range s.parts {
		refs, err := p.Due(ctx, limit)
		if err != nil {
			return nil, err
		}
		found, err := p.Load(ctx, refs)
		if err != nil {
			return nil, err
		}
		due = append(due, inOrder(found.Records, refs)...)
	}
	slices.SortStableFunc(due, func(a, b dibs.Record) int { return cmp.Compare(record.Due(a), record.Due(b)) })
	refs := make([]dibs.Ref, 0, limit)
	for _, r := range due[:min(limit, len(due))] {
		refs = append(refs, r.Ref())
	}
	return refs, nil
}

// inOrder returns records in the order of their refs.
func inOrder(records []dibs.Record, refs []dibs.Ref) []dibs.Record {
	byRef := make(map[dibs.Ref]dibs.Record, len(records))
	for _, r := range records {
		byRef[r.Ref()] = r
	}
	var ordered []dibs.Record
	for _, ref := range refs {
		if r, ok := byRef[ref]; ok {
			ordered = append(ordered, r)
		}
	}
	return ordered
}

// List returns records of one kind, of all parts, in the order of their labels.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if query.Kind == dibs.KindName && query.Namespace != "" {
		return s.of(dibs.ScopeOf(query.Namespace)).List(ctx, query)
	}
	var all []dibs.Record
	for _, p := range s.parts {
		records, err := p.List(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	if len(s.parts) > 1 {
		slices.SortStableFunc(all, func(a, b dibs.Record) int {
			return record.ComparePositions(record.Position(a), record.Position(b))
		})
	}
	return all[:min(query.Limit, len(all))], nil
}

// Count adds up the counts of all parts. No two of them have names of the same namespace.
func (s *Store) Count(ctx context.Context, soon dibs.Instant) (all dibs.Stats, err error) {
	for _, p := range s.parts {
		stats, err := p.Count(ctx, soon)
		if err != nil {
			return dibs.Stats{}, err
		}
		all.Names = append(all.Names, stats.Names...)
		all.EndingSoon += stats.EndingSoon
	}
	return all, nil
}
