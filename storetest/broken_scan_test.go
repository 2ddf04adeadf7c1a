package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

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
