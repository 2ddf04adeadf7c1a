package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/calldibs/dibs"
)

var addCount = newStatement(`INSERT INTO dibs_counts (namespace, state, names) VALUES (?, ?, ?)
	ON CONFLICT DO UPDATE SET names = names + excluded.names`)

// recount adds the changes of this commit to the stored counts.
func (c *changes) recount(ctx context.Context, run runner) error {
	for key, n := range c.counts {
		if n == 0 {
			continue
		}
		if err := run.exec(ctx, addCount, key.Namespace, string(key.State), int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// One statement, so that both come from one moment.
var selectCounts = newStatement(`
	SELECT namespace, state, names FROM dibs_counts WHERE names <> 0
	UNION ALL
	SELECT NULL, NULL, count(*) FROM dibs_names INDEXED BY dibs_names_held WHERE due <= ? AND state = 'held'`)

// Count returns the stored counts, and the number of held names that are due soon.
func (q *queries) Count(ctx context.Context, soon dibs.Instant) (stats dibs.Stats, err error) {
	err = q.read(ctx, func(run runner) error { return readCounts(ctx, run, soon, &stats) })
	return stats, err
}

func readCounts(ctx context.Context, run runner, soon dibs.Instant, stats *dibs.Stats) error {
	return run.query(ctx, selectCounts, []any{int64(soon)}, func(row []driver.Value) error {
		if row[0] == nil {
			stats.EndingSoon = int(asInt(row[2]))
		} else {
			stats.Names = append(stats.Names, dibs.NameCount{Namespace: asText(row[0]), State: dibs.State(asText(row[1])), Count: int(asInt(row[2]))})
		}
		return nil
	})
}

// Counts returns the stored counts.
func (v *view) Counts(ctx context.Context) ([]dibs.NameCount, error) {
	var stats dibs.Stats
	err := v.read(ctx, func() error { return readCounts(ctx, v.conn, 0, &stats) })
	return stats.Names, err
}
