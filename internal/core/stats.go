package core

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// endingSoon is the time within which a hold must end to be counted as ending soon.
const endingSoon = time.Minute

// Stats counts all names that are not free, in their present state.
func (c *core) Stats(ctx context.Context) (dibs.Stats, error) {
	now, err := c.engineNow(ctx)
	if err != nil {
		return dibs.Stats{}, err
	}
	var stats dibs.Stats
	counts := make(map[dibs.NameCount]int)
	query := dibs.ListQuery{Kind: dibs.KindName, Limit: maxPage, States: notFree}
	for n, err := range listAll[*dibs.NameRecord](ctx, c.store, query) {
		if err != nil {
			return dibs.Stats{}, err
		}
		state := rules.StateAsOf(n, now)
		if state == dibs.Free {
			continue
		}
		counts[dibs.NameCount{Namespace: n.Namespace, State: state}]++
		if state == dibs.Held && n.ExpiresAt <= now.Add(endingSoon) {
			stats.EndingSoon++
		}
	}
	for key, n := range counts {
		key.Count = n
		stats.Names = append(stats.Names, key)
	}
	slices.SortFunc(stats.Names, compareCounts)
	return stats, nil
}

func compareCounts(a, b dibs.NameCount) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.State, b.State))
}
