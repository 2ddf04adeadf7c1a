package sqlitestore

import (
	"context"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// changes is what the groups of one commit write, by table.
type changes struct {
	stored    // the records that the groups have read, updated by their writes
	yields    []dibs.ID
	deletes   idsByKind
	names     []row
	entities  []row
	documents []row
	events    []*eventRow
	loose     []*eventRow // of names that are not written
	redacts   []*dibs.Event
	counts    map[dibs.NameCount]int // what is added to dibs_counts
}

func (c *changes) add(g *dibs.Group) error {
	record.Recount(c.counts, g.Writes)
	for i := range g.Writes {
		w := &g.Writes[i]
		ref := w.Record.Ref()
		if w.Delete || w.Renew {
			c.deletes.add(ref.Kind, ref.ID)
			delete(c.records, recordKey{ref.Kind, ref.ID}) // events cannot refer to it
		}
		if w.Delete {
			continue
		}
		data, err := sqlrow.NewRow(w.Record)
		if err != nil {
			return err
		}
		isNew, table := c.records[recordKey{ref.Kind, ref.ID}].rev == 0, tableOf(ref.Kind)
		switch r := (row{Row: data, columns: table.Columns, id: ref.ID, isNew: isNew, sum: table.sum(data)}); ref.Kind {
		case dibs.KindName:
			c.names = append(c.names, r)
			if w.Yields {
				c.yields = append(c.yields, ref.ID)
			}
		case dibs.KindEntity:
			c.entities = append(c.entities, r)
		default:
			c.documents = append(c.documents, r)
		}
	}
	for i := range g.Events {
		c.events = append(c.events, &eventRow{Event: &g.Events[i]})
	}
	for i := range g.Redacts {
		c.redacts = append(c.redacts, &g.Redacts[i])
	}
	return nil
}

var (
	// SQLite checks unique indexes row by row. Names that stop being active are deactivated
	// first, so that no order of rows can violate the index on active names.
	deactivate = in(`UPDATE dibs_names SET state = 'alias' WHERE state = 'active' AND id`)

	insertEvents = insert("dibs_events", []string{"seq", "kind", "at", "name", "prev", "rev", "body", "id", "namespace"}, "")

	updateLastEvent = newStatement(`UPDATE dibs_names SET sum = sum + ?1 - ifnull(last_event, 0), last_event = ?1 WHERE n = ?2`)
)

func (c *changes) write(ctx context.Context, run runner) error {
	if err := forIDs(ctx, run, deactivate, c.yields); err != nil {
		return err
	}
	if err := c.delete(ctx, run); err != nil {
		return err
	}
	c.number()
	c.chain()
	if err := c.redact(ctx, run); err != nil {
		return err
	}
	if err := c.recount(ctx, run); err != nil {
		return err
	}
	return c.put(ctx, run)
}

// number numbers the new names.
func (c *changes) number() {
	for i := range c.names {
		n := &c.names[i]
		key := recordKey{dibs.KindName, n.id}
		p := c.records[key]
		if n.isNew = p.number == 0; n.isNew {
			c.lastName++
			p.number = c.lastName
		}
		p.written = true
		c.records[key] = p
		n.number = p.number
	}
}

// chain numbers the events, and links each to the previous one of its name.
func (c *changes) chain() {
	for _, e := range c.events {
		c.lastEvent++
		e.seq = c.lastEvent
		key := recordKey{dibs.KindName, e.ID}
		if p := c.records[key]; p.number != 0 {
			e.name, e.prev = p.number, p.lastEvent
			p.lastEvent = e.seq
			c.records[key] = p
			if !p.written {
				c.loose = append(c.loose, e)
			}
		}
	}
	for i := range c.names {
		n := &c.names[i]
		n.lastEvent = c.records[recordKey{dibs.KindName, n.id}].lastEvent
	}
}

var (
	// The chains of some names, from their ends. A damaged link may lead to another name's event, or back: neither
	// is followed.
	deleteEvents = newBatch(func(n int) string {
		return `DELETE FROM dibs_events WHERE seq IN (
			WITH RECURSIVE chain(seq, prev, name) AS (
				SELECT e.seq, e.prev, e.name FROM dibs_names n JOIN dibs_events e ON e.seq = n.last_event AND e.name = n.n
					WHERE n.id IN (` + params(n) + `)
				UNION ALL
				SELECT e.seq, e.prev, e.name FROM chain JOIN dibs_events e ON e.seq = chain.prev AND e.name = chain.name WHERE e.seq < chain.seq
			) SELECT seq FROM chain)`
	})
	deleteLooseEvents = in(`DELETE FROM dibs_events WHERE id`)

	keepEnds = newStatement(`INSERT INTO dibs_ends (one, n, seq) VALUES (1, ?, ?)
		ON CONFLICT (one) DO UPDATE SET n = excluded.n, seq = excluded.seq`)
)

// delete removes records, and the events of names. It may remove the rows with the last numbers,
// so dibs_ends keeps these numbers.
func (c *changes) delete(ctx context.Context, run runner) error {
	for _, w := range c.deletes {
		if w.kind != dibs.KindName {
			continue
		}
		if err := run.exec(ctx, keepEnds, c.lastName, c.lastEvent); err != nil {
			return err
		}
		if err := forIDs(ctx, run, deleteEvents, w.ids); err != nil {
			return err
		}
		if err := forIDs(ctx, run, deleteLooseEvents, w.ids); err != nil {
			return err
		}
	}
	return c.deletes.each(func(t *table) *batch { return t.remove }, func(_ dibs.Kind, st *statement, args []any) error {
		return run.exec(ctx, st, args...)
	})
}

// put writes all rows.
func (c *changes) put(ctx context.Context, run runner) error {
	var newHolds, other []row
	for _, n := range c.names {
		if n.isNewHold() {
			n.columns = holdColumns
			newHolds = append(newHolds, n)
		} else {
			other = append(other, n)
		}
	}
	if err := putRows(ctx, run, insertHolds, newHolds); err != nil {
		return err
	}
	for _, t := range []struct {
		*table
		rows []row
	}{{names, other}, {entities, c.entities}, {documents, c.documents}} {
		added, replaced := splitNew(t.rows)
		if err := putRows(ctx, run, t.insert, added); err != nil {
			return err
		}
		if err := putRows(ctx, run, t.upsert, replaced); err != nil {
			return err
		}
	}
	for _, e := range c.loose {
		if err := run.exec(ctx, updateLastEvent, e.seq, e.name); err != nil {
			return err
		}
	}
	return putRows(ctx, run, insertEvents, c.events)
}

// splitNew returns the rows that have none in the file yet, and the others.
func splitNew(rows []row) (added, replaced []row) {
	if !slices.ContainsFunc(rows, func(r row) bool { return !r.isNew }) {
		return rows, nil
	}
	for _, r := range rows {
		if r.isNew {
			added = append(added, r)
		} else {
			replaced = append(replaced, r)
		}
	}
	return added, replaced
}

// forIDs runs a statement for all ids.
func forIDs(ctx context.Context, run runner, b *batch, ids []dibs.ID) error {
	return b.each(ids, nil, func(st *statement, args []any) error { return run.exec(ctx, st, args...) })
}

// putRows writes rows by statements of a batch.
func putRows[T interface {
	appendTo(args []any) []any
}](ctx context.Context, run runner, b *batch, rows []T) error {
	var args []any
	for len(rows) > 0 {
		st, size := b.within(len(rows))
		args = args[:0]
		for i, row := range rows[:size] {
			if args = row.appendTo(args); i == 0 {
				args = slices.Grow(args, (size-1)*len(args))
			}
		}
		if err := run.exec(ctx, st, args...); err != nil {
			return err
		}
		rows = rows[size:]
	}
	return nil
}
