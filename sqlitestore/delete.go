package sqlitestore

import (
	"context"

	"github.com/calldibs/dibs"
)

var (
	// The chains of some names, from their ends.
	deleteEvents = newBatch(func(n int) string {
		return `DELETE FROM dibs_events WHERE seq IN (
			WITH RECURSIVE chain(seq) AS (
				SELECT last_event FROM dibs_names WHERE id IN (` + places(n) + `) AND last_event IS NOT NULL
				UNION ALL
				SELECT e.prev FROM chain JOIN dibs_events e ON e.seq = chain.seq WHERE e.prev IS NOT NULL
			) SELECT seq FROM chain)`
	})
	deleteStrayEvents = in(`DELETE FROM dibs_events WHERE id`)

	keepEnds = newStatement(`INSERT INTO dibs_ends (one, n, seq) VALUES (1, ?, ?)
		ON CONFLICT (one) DO UPDATE SET n = excluded.n, seq = excluded.seq`)
)

// delete removes records, and with names their events. The last numbers that were
// given out may be among those that go, so they are kept elsewhere.
func (c *changes) delete(ctx context.Context, run runner, lastName, lastEvent int64) error {
	for _, w := range c.deletes {
		if w.kind != dibs.KindName {
			continue
		}
		if err := run.exec(ctx, keepEnds, lastName, lastEvent); err != nil {
			return err
		}
		if err := forIDs(ctx, run, deleteEvents, w.ids); err != nil {
			return err
		}
		if err := forIDs(ctx, run, deleteStrayEvents, w.ids); err != nil {
			return err
		}
	}
	return c.deletes.each((*shelf).dropping, func(_ dibs.Kind, _ *shelf, st *statement, args []any) error {
		return run.exec(ctx, st, args...)
	})
}
