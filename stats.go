package dibs

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// endingSoon is within what time a hold that ends is about to.
const endingSoon = time.Minute

// Stats looks at all names that are not free, as they stand now.
func (c *core) Stats(ctx context.Context) (Stats, error) {
	now, err := c.engineNow(ctx)
	if err != nil {
		return Stats{}, err
	}
	var stats Stats
	counts := make(map[NameCount]int)
	query := ListQuery{Kind: KindName, Limit: maxPage, States: []State{Held, Suspect, Active, Alias, Quarantined}}
	for {
		records, err := c.store.List(ctx, query)
		if err != nil {
			return Stats{}, err
		}
		for _, r := range records {
			n, ok := r.(*NameRecord)
			if !ok {
				continue
			}
			query.After = &ListPosition{Namespace: n.Namespace, Label: n.Canonical}
			state := stateAt(n, now)
			if state == Free {
				continue
			}
			counts[NameCount{Namespace: n.Namespace, State: state}]++
			if state == Held && n.ExpiresAt <= now.Add(endingSoon) {
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

func compareCounts(c, other NameCount) int {
	return cmp.Or(cmp.Compare(c.Namespace, other.Namespace), cmp.Compare(c.State, other.State))
}
