package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// asking breaks List: it changes the query first.
func asking(change func(query *dibs.ListQuery)) breakage {
	return func(f *fake, _ *Clock) {
		good := f.list
		f.list = func(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
			change(&query)
			return good(ctx, query)
		}
	}
}

// sorting breaks List: it sorts names by another text.
func sorting(by func(at *dibs.ListPosition) string) breakage {
	return func(f *fake, _ *Clock) {
		good := f.list
		f.list = func(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
			limit := query.Limit
			query.Limit = 1000
			records, err := good(ctx, query)
			slices.SortStableFunc(records, func(a, b dibs.Record) int {
				return cmp.Compare(by(positionOf(a)), by(positionOf(b)))
			})
			return records[:min(limit, len(records))], err
		}
	}
}

// asUTF16 returns a text whose bytes sort as UTF-16 code units do.
func asUTF16(s string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = append(b, byte(unit>>8), byte(unit))
	}
	return string(b)
}

// miscounting breaks Count: it changes the result.
func miscounting(change func(stats *dibs.Stats)) breakage {
	return func(f *fake, _ *Clock) {
		good := f.count
		f.count = func(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
			stats, err := good(ctx, soon)
			change(&stats)
			return stats, err
		}
	}
}

// countUp breaks Count: numbers never fall.
func countUp(f *fake, _ *Clock) {
	most := make(map[dibs.NameCount]int)
	miscounting(func(stats *dibs.Stats) {
		for _, c := range stats.Names {
			key := dibs.NameCount{Namespace: c.Namespace, State: c.State}
			most[key] = max(most[key], c.Count)
		}
		stats.Names = record.Counts(most)
	})(f, nil)
}

func brokenLists() []broken {
	return []broken{
		{must: "count", how: "counts no held names", apply: miscounting(func(stats *dibs.Stats) { stats.EndingSoon = 0 })},
		{must: "count", how: "includes free names", apply: miscounting(func(stats *dibs.Stats) {
			stats.Names = append(stats.Names, dibs.NameCount{Namespace: "slug", State: dibs.Free, Count: 1})
		})},
		{must: "count", how: "forgets the namespace", apply: miscounting(func(stats *dibs.Stats) {
			for i := range stats.Names {
				stats.Names[i].Namespace = "slug"
			}
		})},
		{must: "count", how: "never counts down", apply: countUp},
		{must: "count", how: "ignores the date", apply: func(f *fake, _ *Clock) {
			good := f.count
			f.count = func(ctx context.Context, _ dibs.Instant) (dibs.Stats, error) { return good(ctx, 1<<60) }
		}},
		{must: "list-order", how: "sorts without case", apply: sorting(func(at *dibs.ListPosition) string {
			return at.Namespace + "\x00" + strings.ToLower(at.Label)
		})},
		{must: "list-order", how: "sorts by UTF-16", apply: sorting(func(at *dibs.ListPosition) string {
			return at.Namespace + "\x00" + asUTF16(at.Label)
		})},
		{must: "list-order", how: "sorts by joined keys", apply: sorting(func(at *dibs.ListPosition) string {
			return at.Namespace + ":" + at.Label
		})},
		{must: "list-order", how: "labels first", apply: sorting(func(at *dibs.ListPosition) string { return at.Label })},
		{must: "list-filter", how: "returns names for any kind", apply: asking(func(q *dibs.ListQuery) { q.Kind = dibs.KindName })},
		{must: "list-filter", how: "ignores the namespace", apply: asking(func(q *dibs.ListQuery) { q.Namespace = "" })},
		{must: "list-filter", how: "ignores the states", apply: asking(func(q *dibs.ListQuery) { q.States = nil })},
		{must: "list-filter", how: "uses only the first state", apply: asking(func(q *dibs.ListQuery) { q.States = q.States[:min(1, len(q.States))] })},
		{must: "list-filter", how: "ignores From", apply: asking(func(q *dibs.ListQuery) { q.From = "" })},
		{must: "list-filter", how: "behind From", apply: asking(func(q *dibs.ListQuery) {
			if q.From != "" {
				q.From += "\x00"
			}
		})},
		{must: "list-filter", how: "ignores To", apply: asking(func(q *dibs.ListQuery) { q.To = "" })},
		{must: "list-filter", how: "with To", apply: asking(func(q *dibs.ListQuery) {
			if q.To != "" {
				q.To += "\x00"
			}
		})},
		{must: "list-filter", how: "compares ranges without case", apply: asking(func(q *dibs.ListQuery) { q.From, q.To = strings.ToLower(q.From), strings.ToLower(q.To) })},
		{must: "list-filter", how: "ignores After", apply: asking(func(q *dibs.ListQuery) { q.After = nil })},
		{must: "list-filter", how: "resumes by namespace only", apply: asking(func(q *dibs.ListQuery) {
			if q.After != nil && q.Namespace == "" {
				q.Namespace = q.After.Namespace
			}
		})},
		{must: "list-filter", how: "ignores the limit", apply: asking(func(q *dibs.ListQuery) { q.Limit = 1000 })},
		{must: "list-paging", how: "repeats the last record", apply: func(f *fake, _ *Clock) {
			good := f.list
			f.list = func(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
				if query.After != nil && query.Limit > 1 {
					before := dibs.ListQuery{Kind: query.Kind, Namespace: query.Namespace, From: query.After.Label, Limit: 1}
					last, _ := good(ctx, before)
					query.Limit--
					page, err := good(ctx, query)
					if len(page) > 0 {
						page = append(last, page...)
					}
					return page, err
				}
				return good(ctx, query)
			}
		}},
		{must: "list-paging", how: "skips a record", apply: func(f *fake, _ *Clock) {
			good := f.list
			f.list = func(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
				page, err := good(ctx, query)
				if query.After != nil && len(page) > 0 {
					page = page[1:]
				}
				return page, err
			}
		}},
		{must: "list-paging", how: "resumes only at a record that still exists", apply: func(f *fake, _ *Clock) {
			good := f.list
			f.list = func(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
				if query.After != nil {
					there, err := good(ctx, dibs.ListQuery{Kind: query.Kind, Namespace: query.After.Namespace, From: query.After.Label, Limit: 1})
					if err != nil || len(there) == 0 || *positionOf(there[0]) != *query.After {
						return nil, err
					}
				}
				return good(ctx, query)
			}
		}},
	}
}
