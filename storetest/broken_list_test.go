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
		{must: "list-due", how: "ignores the date", apply: asking(func(q *dibs.ListQuery) { q.DueBefore = 0 })},
		{must: "list-due", how: "with the date itself", apply: asking(func(q *dibs.ListQuery) {
			if q.DueBefore != 0 {
				q.DueBefore++
			}
		})},
		{must: "list-due", how: "ignores the namespace", apply: asking(func(q *dibs.ListQuery) {
			if q.DueBefore != 0 {
				q.Namespace = ""
			}
		})},
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

// sweeping breaks Due: it changes the result.
func sweeping(change func(f *fake, clock *Clock, refs []dibs.Ref, limit int) []dibs.Ref) breakage {
	return func(f *fake, clock *Clock) {
		good := f.due
		f.due = func(ctx context.Context, limit int) ([]dibs.Ref, error) {
			refs, err := good(ctx, 1000)
			refs = change(f, clock, refs, limit)
			return refs[:min(limit, len(refs))], err
		}
	}
}

// dueLater breaks Due: it leaves out records whose date is reached.
func dueLater(left func(due, now dibs.Instant) bool) breakage {
	return sweeping(func(f *fake, clock *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
		s, _ := f.data.Load(context.Background(), refs)
		var kept []dibs.Ref
		for _, record := range s.Records {
			if n, ok := record.(*dibs.NameRecord); !ok || !left(n.Due, dibs.InstantOf(clock.Now())) {
				kept = append(kept, record.Ref())
			}
		}
		return kept
	})
}

// owning breaks Owned: it selects among all names, and sorts them, in another
// way.
func owning(belongs func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool, order func(a, b *dibs.NameRecord) int) breakage {
	return func(f *fake, _ *Clock) {
		f.owned = func(_ context.Context, scope string, owner dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
			names := slices.DeleteFunc(allNames(f.data), func(n *dibs.NameRecord) bool { return !belongs(n, scope, owner) })
			slices.SortStableFunc(names, order)
			return names[:min(limit, len(names))], nil
		}
	}
}

func mine(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
	return (n.State == dibs.Active || n.State == dibs.Alias) && n.Scope == scope && n.Owner == owner
}

func asListed(_, _ *dibs.NameRecord) int { return 0 }

func brokenScans() []broken {
	return []broken{
		{must: "due-order", how: "latest first", apply: sweeping(func(_ *fake, _ *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
			slices.Reverse(refs)
			return refs
		})},
		{must: "due-order", how: "sorts after it applies the limit", apply: sweeping(func(_ *fake, _ *Clock, refs []dibs.Ref, limit int) []dibs.Ref {
			return refs[max(0, len(refs)-limit):]
		})},
		{must: "due-order", how: "sorts by kind first", apply: sweeping(func(_ *fake, _ *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
			slices.SortStableFunc(refs, func(a, b dibs.Ref) int { return cmp.Compare(a.Kind, b.Kind) })
			return refs
		})},
		{must: "due-order", how: "ignores the limit", apply: func(f *fake, _ *Clock) {
			good := f.due
			f.due = func(ctx context.Context, _ int) ([]dibs.Ref, error) { return good(ctx, 1000) }
		}},
		{must: "due-exact", how: "returns records a millisecond late", apply: dueLater(func(due, now dibs.Instant) bool { return due >= now })},
		{must: "due-exact", how: "compares whole seconds", apply: dueLater(func(due, now dibs.Instant) bool { return due/1000 >= now/1000 })},
		{must: "due-exact", how: "returns records a millisecond early", apply: func(f *fake, clock *Clock) {
			f.due = func(_ context.Context, _ int) (refs []dibs.Ref, err error) {
				for _, n := range allNames(f.data) {
					if n.Due != 0 && n.Due <= dibs.InstantOf(clock.Now())+1 {
						refs = append(refs, n.Ref())
					}
				}
				return refs, nil
			}
		}},
		{must: "due-none", how: "treats a missing date as past", apply: sweeping(func(f *fake, _ *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
			for _, n := range allNames(f.data) {
				if n.Due == 0 {
					refs = append(refs, n.Ref())
				}
			}
			return refs
		})},
		{must: "owned", how: "sorts by canonical form first", apply: owning(mine, func(a, b *dibs.NameRecord) int {
			return cmp.Compare(a.Canonical, b.Canonical)
		})},
		{must: "owned", how: "sorts by joined keys", apply: owning(mine, func(a, b *dibs.NameRecord) int {
			return cmp.Compare(a.Key(), b.Key())
		})},
		{must: "owned", how: "sorts without case", apply: owning(mine, func(a, b *dibs.NameRecord) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(strings.ToLower(a.Canonical), strings.ToLower(b.Canonical)))
		})},
		{must: "owned", how: "ignores the limit", apply: func(f *fake, _ *Clock) {
			good := f.owned
			f.owned = func(ctx context.Context, scope string, owner dibs.Entity, _ int) ([]*dibs.NameRecord, error) {
				return good(ctx, scope, owner, 1000)
			}
		}},
		{must: "owned", how: "returns only active names", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return n.State == dibs.Active && mine(n, scope, owner)
		}, asListed)},
		{must: "owned", how: "ignores the scope", apply: owning(func(n *dibs.NameRecord, _ string, owner dibs.Entity) bool {
			return mine(n, n.Scope, owner)
		}, asListed)},
		{must: "owned", how: "includes child scopes", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return strings.HasPrefix(n.Scope, scope) && mine(n, n.Scope, owner)
		}, asListed)},
		{must: "owned", how: "compares entities without case", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return mine(n, scope, n.Owner) && strings.EqualFold(n.Owner.String(), owner.String()) && n.Owner.Type != "user/1"
		}, asListed)},
		{must: "owned", how: "compares entities as joined text", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return mine(n, scope, n.Owner) && n.Owner.String() == owner.String()
		}, asListed)},
		{must: "owned-given-up", how: "includes names in any state", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return n.Scope == scope && n.Owner == owner
		}, asListed)},
		{must: "owned-given-up", how: "includes quarantined names", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return mine(n, scope, owner) || n.State == dibs.Quarantined && n.Owner == owner
		}, asListed)},
		{must: "owned-given-up", how: "includes names held for the entity", apply: owning(func(n *dibs.NameRecord, scope string, owner dibs.Entity) bool {
			return mine(n, scope, owner) || n.State == dibs.Held && n.Intended == owner
		}, asListed)},
	}
}
