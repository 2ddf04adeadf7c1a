package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// sweeping bends what Due returns.
func sweeping(change func(f *fake, clock *Clock, refs []dibs.Ref, limit int) []dibs.Ref) bend {
	return func(f *fake, clock *Clock) {
		good := f.due
		f.due = func(ctx context.Context, limit int) ([]dibs.Ref, error) {
			refs, err := good(ctx, 1000)
			refs = change(f, clock, refs, limit)
			return refs[:min(limit, len(refs))], err
		}
	}
}

// dueLater bends Due so that it leaves out dates that are reached.
func dueLater(left func(due, now dibs.Instant) bool) bend {
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

// owning bends Owned into a choice of its own among all names, sorted by an order
// of its own.
func owning(belongs func(n *dibs.NameRecord, scope string, who dibs.Entity) bool, order func(a, b *dibs.NameRecord) int) bend {
	return func(f *fake, _ *Clock) {
		f.owned = func(_ context.Context, scope string, who dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
			names := slices.DeleteFunc(allNames(f.data), func(n *dibs.NameRecord) bool { return !belongs(n, scope, who) })
			slices.SortStableFunc(names, order)
			return names[:min(limit, len(names))], nil
		}
	}
}

func mine(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
	return (n.State == dibs.Active || n.State == dibs.Alias) && n.Scope == scope && n.Owner == who
}

func asListed(_, _ *dibs.NameRecord) int { return 0 }

func brokenScans() []broken {
	return []broken{
		{must: "due-order", how: "latest first", bend: sweeping(func(_ *fake, _ *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
			slices.Reverse(refs)
			return refs
		})},
		{must: "due-order", how: "sorts what the limit left", bend: sweeping(func(_ *fake, _ *Clock, refs []dibs.Ref, limit int) []dibs.Ref {
			return refs[max(0, len(refs)-limit):]
		})},
		{must: "due-order", how: "kind by kind", bend: sweeping(func(_ *fake, _ *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
			slices.SortStableFunc(refs, func(a, b dibs.Ref) int { return cmp.Compare(a.Kind, b.Kind) })
			return refs
		})},
		{must: "due-order", how: "has no limit", bend: func(f *fake, _ *Clock) {
			good := f.due
			f.due = func(ctx context.Context, _ int) ([]dibs.Ref, error) { return good(ctx, 1000) }
		}},
		{must: "due-exact", how: "a millisecond late", bend: dueLater(func(due, now dibs.Instant) bool { return due >= now })},
		{must: "due-exact", how: "by the second", bend: dueLater(func(due, now dibs.Instant) bool { return due/1000 >= now/1000 })},
		{must: "due-exact", how: "a millisecond early", bend: func(f *fake, clock *Clock) {
			f.due = func(_ context.Context, _ int) (refs []dibs.Ref, err error) {
				for _, n := range allNames(f.data) {
					if n.Due != 0 && n.Due <= dibs.InstantOf(clock.Now())+1 {
						refs = append(refs, n.Ref())
					}
				}
				return refs, nil
			}
		}},
		{must: "due-none", how: "takes no date for long ago", bend: sweeping(func(f *fake, _ *Clock, refs []dibs.Ref, _ int) []dibs.Ref {
			for _, n := range allNames(f.data) {
				if n.Due == 0 {
					refs = append(refs, n.Ref())
				}
			}
			return refs
		})},
		{must: "owned", how: "by canonical form first", bend: owning(mine, func(a, b *dibs.NameRecord) int {
			return cmp.Compare(a.Canonical, b.Canonical)
		})},
		{must: "owned", how: "in the order of joined keys", bend: owning(mine, func(a, b *dibs.NameRecord) int {
			return cmp.Compare(a.Key(), b.Key())
		})},
		{must: "owned", how: "in the order of a dictionary", bend: owning(mine, func(a, b *dibs.NameRecord) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(strings.ToLower(a.Canonical), strings.ToLower(b.Canonical)))
		})},
		{must: "owned", how: "has no limit", bend: func(f *fake, _ *Clock) {
			good := f.owned
			f.owned = func(ctx context.Context, scope string, who dibs.Entity, _ int) ([]*dibs.NameRecord, error) {
				return good(ctx, scope, who, 1000)
			}
		}},
		{must: "owned", how: "active names alone", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return n.State == dibs.Active && mine(n, scope, who)
		}, asListed)},
		{must: "owned", how: "in all scopes", bend: owning(func(n *dibs.NameRecord, _ string, who dibs.Entity) bool {
			return mine(n, n.Scope, who)
		}, asListed)},
		{must: "owned", how: "in scopes below", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return strings.HasPrefix(n.Scope, scope) && mine(n, n.Scope, who)
		}, asListed)},
		{must: "owned", how: "of entities without case", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return mine(n, scope, n.Owner) && strings.EqualFold(n.Owner.String(), who.String()) && n.Owner.Type != "user/1"
		}, asListed)},
		{must: "owned", how: "of entities as joined text", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return mine(n, scope, n.Owner) && n.Owner.String() == who.String()
		}, asListed)},
		{must: "owned-given-up", how: "in any state", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return n.Scope == scope && n.Owner == who
		}, asListed)},
		{must: "owned-given-up", how: "in quarantine too", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return mine(n, scope, who) || n.State == dibs.Quarantined && n.Owner == who
		}, asListed)},
		{must: "owned-given-up", how: "held for it", bend: owning(func(n *dibs.NameRecord, scope string, who dibs.Entity) bool {
			return mine(n, scope, who) || n.State == dibs.Held && n.Intended == who
		}, asListed)},
	}
}
