package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
)

// transaction is one attempt to commit groups.
type transaction struct {
	indexes  []int // of all groups; they commit or fail together
	general  *changes
	newNames *newNames
	// generalIndexes are those of the groups in general.
	generalIndexes []int
	shortLockWait  bool
}

func (c *commitCall) transaction(indexes []int) (*transaction, error) {
	t := &transaction{indexes: indexes, shortLockWait: c.searching()}
	for _, i := range indexes {
		g := &c.groups[i]
		var err error
		if isNewName(g) {
			if t.newNames == nil {
				t.newNames = &newNames{changes: *c.store.newChanges()}
			}
			err = t.newNames.add(i, g)
		} else {
			if t.general == nil {
				t.general = c.store.newChanges()
			}
			t.generalIndexes = append(t.generalIndexes, i)
			err = t.general.add(g)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

const setShortLockWait = "SET LOCAL lock_timeout = '2ms'"

// run runs the transaction in one round trip.
func (t *transaction) run(ctx context.Context, conn *pgx.Conn, sql *statements) error {
	if t.general == nil && !t.shortLockWait {
		return pipeline(ctx, conn, t.newNames.call(sql))
	}
	calls := []call{{text: "BEGIN"}}
	if t.shortLockWait {
		calls = append(calls, call{text: setShortLockWait})
	}
	if t.general != nil {
		t.general.sort()
		t.general.chain()
		calls = append(calls, t.general.calls(sql)...)
	}
	if t.newNames != nil {
		calls = append(calls, t.newNames.call(sql))
	}
	return pipeline(ctx, conn, append(calls, call{text: "COMMIT"})...)
}

// accept notes the outcomes of a committed transaction.
func (c *commitCall) accept(t *transaction) {
	if t.general != nil {
		for _, i := range t.generalIndexes {
			c.outcomes[i] = dibs.Committed
		}
		c.committed = true
		c.store.clock.learn(t.general.now)
	}
	if t.newNames != nil {
		t.newNames.outcomes(c.groups, c.outcomes)
		c.committed = c.committed || len(t.newNames.inserted) > 0
		c.store.clock.learn(t.newNames.now)
	}
	for _, i := range t.indexes {
		c.store.locked.remove(&c.groups[i])
	}
}

// newNames are the groups of a transaction that only insert one name each: most reservations.
// One statement commits them all, and each group is committed or stale on its own.
type newNames struct {
	changes
	indexes  []int // in the groups of the Commit
	inserted map[uuid]bool
}

// isNewName reports whether a group only inserts one name with the first event of its history,
// and reads no other records than documents.
func isNewName(g *dibs.Group) bool {
	if len(g.Writes) != 1 || len(g.Events) != 1 || len(g.Redacts) != 0 || g.Writes[0].Delete {
		return false
	}
	ref := g.Writes[0].Record.Ref()
	if ref.Kind != dibs.KindName || g.Events[0].ID != ref.ID {
		return false
	}
	for i := range g.Reads {
		switch r := &g.Reads[i]; {
		case r.Ref.ID == ref.ID && r.Ref.Kind == ref.Kind:
			if r.Rev != 0 {
				return false
			}
		case r.Ref.Kind == dibs.KindName || r.Ref.Kind == dibs.KindEntity:
			return false
		}
	}
	return true
}

func (n *newNames) add(index int, g *dibs.Group) error {
	n.indexes = append(n.indexes, index)
	return n.changes.add(g)
}

// call returns the statement that is the whole commit: it locks the documents that the
// decisions rest on, inserts the names that are absent with their events and the batch, and
// then checks the window. It returns the inserted names and the time.
func (n *newNames) call(sql *statements) call {
	n.chain()
	n.sort()
	shape, args := names.shape(n.names.insert)
	eventShape, eventArgs := events.shape(n.events)
	args = append(args, eventArgs...)
	docShape, keys := "", expectingKeys(documents)
	if len(n.documents.share) > 0 {
		var docArgs []any
		docShape, docArgs = keys.shape(n.documents.share)
		args = append(args, docArgs...)
	}
	args = append(args, n.batch, n.stamp, int64(n.window.From), int64(n.window.Before))
	text := sql.shaped.get("new names "+shape+eventShape+docShape, func() string { return newNamesSQL(sql, shape, eventShape, docShape) })
	return call{text: text, args: args, scan: n.scan}
}

func newNamesSQL(sql *statements, shape, eventShape, docShape string) string {
	var p params
	rows, eventRows := names.source(&p, shape), events.source(&p, eventShape)
	locked, where := "", ""
	if docShape != "" {
		docs := expectingKeys(documents).source(&p, docShape)
		locked = "kept AS MATERIALIZED (" + lockSQL(sql, documents, docs, "SHARE") + "),"
		where = " WHERE (SELECT count(*) FROM kept) = " + docs.count
	}
	batch, stamp, from, before := p.next("uuid"), p.next("bigint"), p.next("bigint"), p.next("bigint")
	eventsFrom := " FROM done"
	if !rows.single() {
		// Not a join: that would be a nested loop over many names. This is one hash lookup
		// for each.
		eventsFrom = " FROM " + eventRows.from + " WHERE (r.name IN (SELECT id FROM done)) IS TRUE"
	}
	return fmt.Sprintf(`WITH %s
		done AS (%s ON CONFLICT (id) DO NOTHING RETURNING id),
		told AS (INSERT INTO %s (batch, %s) SELECT %s, %s%s RETURNING 1),
		closed AS (INSERT INTO %s (id, stamp, live) SELECT %s, %s, (SELECT count(*) FROM told) WHERE EXISTS (SELECT 1 FROM done))
		SELECT ids, %s FROM (SELECT ids, %s AS now FROM (SELECT array_agg(id) AS ids FROM done) d) c`,
		locked,
		insertSQL(sql, names, rows, where),
		sql.table("dibs_events"), events.list(), batch, events.values(eventRows), eventsFrom,
		sql.table("dibs_batches"), batch, stamp,
		assertSQL(fmt.Sprintf("c.now >= %s AND (%s = 0 OR c.now < %s)", from, before, before), "c.now", "c.now"), sql.clock)
}

func (n *newNames) scan(row scanner) error {
	var inserted pgtype.FlatArray[uuid]
	if err := row.Scan(&inserted, &n.now); err != nil {
		return err
	}
	n.inserted = make(map[uuid]bool, len(inserted))
	for _, id := range inserted {
		n.inserted[id] = true
	}
	return nil
}

// outcomes sets the outcome of each group.
func (n *newNames) outcomes(groups []dibs.Group, outcomes []dibs.Outcome) {
	for _, i := range n.indexes {
		outcomes[i] = dibs.Stale
		if n.inserted[uuid(groups[i].Writes[0].Record.Ref().ID)] {
			outcomes[i] = dibs.Committed
		}
	}
}
