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

// Stats counts all names that are not free. The engine counts them in their stored state, and the
// names whose date has come are counted again in their present one: at most maxPage of them, which
// is all unless the sweeper is behind.
func (c *core) Stats(ctx context.Context) (dibs.Stats, error) {
	now, err := c.engineNow(ctx)
	if err != nil {
		return dibs.Stats{}, err
	}
	stats, err := c.store.Count(ctx, now.Add(endingSoon))
	if err != nil {
		return dibs.Stats{}, err
	}
	due, err := c.store.Due(ctx, maxPage)
	if err != nil {
		return dibs.Stats{}, err
	}
	loaded, err := c.store.Load(ctx, due)
	if err != nil {
		return dibs.Stats{}, err
	}
	counts := make(map[dibs.NameCount]int, len(stats.Names))
	for _, s := range stats.Names {
		counts[dibs.NameCount{Namespace: s.Namespace, State: s.State}] += s.Count
	}
	for _, r := range loaded.Records {
		n, ok := r.(*dibs.NameRecord)
		if !ok || n.State == dibs.Free {
			continue
		}
		present := rules.StateAsOf(n, now)
		counts[dibs.NameCount{Namespace: n.Namespace, State: n.State}]--
		counts[dibs.NameCount{Namespace: n.Namespace, State: present}]++
		if n.State == dibs.Held && present != dibs.Held {
			stats.EndingSoon--
		}
	}
	// The counts and the names that are due are of different moments.
	stats = dibs.Stats{EndingSoon: max(stats.EndingSoon, 0)}
	for key, n := range counts {
		if key.Count = n; n > 0 && key.State != dibs.Free {
			stats.Names = append(stats.Names, key)
		}
	}
	slices.SortFunc(stats.Names, compareCounts)
	return stats, nil
}

func compareCounts(a, b dibs.NameCount) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.State, b.State))
}
