package core

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// endingSoon is within what time a hold that ends is about to.
const endingSoon = time.Minute

// Stats looks at all names that are not free, as they stand now.
func (c *core) Stats(ctx context.Context) (dibs.Stats, error) {
	now, err := c.engineNow(ctx)
	if err != nil {
		return dibs.Stats{}, err
	}
	var stats dibs.Stats
	counts := make(map[dibs.NameCount]int)
	query := dibs.ListQuery{Kind: dibs.KindName, Limit: maxPage, States: []dibs.State{dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined}}
	for {
		records, err := c.store.List(ctx, query)
		if err != nil {
			return dibs.Stats{}, err
		}
		for _, r := range records {
			n, ok := r.(*dibs.NameRecord)
			if !ok {
				continue
			}
			query.After = &dibs.ListPosition{Namespace: n.Namespace, Label: n.Canonical}
			state := rules.StateAsOf(n, now)
			if state == dibs.Free {
				continue
			}
			counts[dibs.NameCount{Namespace: n.Namespace, State: state}]++
			if state == dibs.Held && n.ExpiresAt <= now.Add(endingSoon) {
				stats.EndingSoon++
			}
		}
		if len(records) < query.Limit {
			break
		}
	}
	for key, n := range counts {
		key.Count = n
		stats.Names = append(stats.Names, key)
	}
	slices.SortFunc(stats.Names, compareCounts)
	return stats, nil
}

func compareCounts(c, other dibs.NameCount) int {
	return cmp.Or(cmp.Compare(c.Namespace, other.Namespace), cmp.Compare(c.State, other.State))
}
