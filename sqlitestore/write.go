package sqlitestore

import (
	"context"

	"github.com/calldibs/dibs"
)

// changes is what the groups of one commit write, by table.
type changes struct {
	present   map[record]present // what the groups have read
	yields    []dibs.ID
	deletes   sorted
	names     []nameRow
	entities  []*dibs.EntityRecord
	documents []*dibs.Document
	events    []*dibs.Event
}

func (c *changes) add(g *dibs.Group) {
	for i := range g.Writes {
		w := &g.Writes[i]
		if w.Delete {
			ref := w.Record.Ref()
			c.deletes.add(ref.Kind, ref.ID)
			delete(c.present, record{ref.Kind, ref.ID}) // no event can refer to it
			continue
		}
		switch r := w.Record.(type) {
		case *dibs.NameRecord:
			c.names = append(c.names, nameRow{r, c.present[record{dibs.KindName, r.ID}].number})
			if w.Yields {
				c.yields = append(c.yields, r.ID)
			}
		case *dibs.EntityRecord:
			c.entities = append(c.entities, r)
		case *dibs.Document:
			c.documents = append(c.documents, r)
		}
	}
	for i := range g.Events {
		c.events = append(c.events, &g.Events[i])
	}
}

var (
	// SQLite checks unique indexes row by row. Names that stop being an entity's
	// active one step aside first; so the order of the rows written after that
	// does not matter.
	parkNames    = in(`UPDATE dibs_names SET state = 'alias' WHERE state = 'active' AND id`)
	deleteEvents = newBatch(func(n int) string {
		return `DELETE FROM dibs_events WHERE name IN (SELECT n FROM dibs_names WHERE id IN (` + places(n) + `))`
	})
	deleteStrayEvents = in(`DELETE FROM dibs_events WHERE id`)

	upsertNames     = names.upsert()
	upsertEntities  = entities.upsert()
	upsertDocuments = documents.upsert()
	insertEvents    = events.insert(events.list(), "")

	selectLastNumber = newStatement(`SELECT coalesce(max(n), 0) FROM dibs_names`)
)

func (c *changes) write(ctx context.Context, run runner) error {
	if err := forIDs(ctx, run, parkNames, c.yields); err != nil {
		return err
	}
	if err := c.delete(ctx, run); err != nil {
		return err
	}
	if err := c.number(ctx, run); err != nil {
		return err
	}
	if err := putRows(ctx, run, upsertNames, nameColumns, c.names, appendName); err != nil {
		return err
	}
	if err := putRows(ctx, run, upsertEntities, entityColumns, c.entities, appendEntity); err != nil {
		return err
	}
	if err := putRows(ctx, run, upsertDocuments, documentColumns, c.documents, appendDocument); err != nil {
		return err
	}
	return putRows(ctx, run, insertEvents, eventColumns, c.events, c.appendEvent)
}

// number gives new names the next numbers. Nobody else does so meanwhile: the
// transaction has the write lock.
func (c *changes) number(ctx context.Context, run runner) error {
	var last int64
	for i := range c.names {
		if c.names[i].number != 0 {
			continue
		}
		if last == 0 {
			if err := scanOne(ctx, run, selectLastNumber, &last); err != nil {
				return err
			}
		}
		last++
		c.names[i].number = last
		c.present[record{dibs.KindName, c.names[i].ID}] = present{number: last}
	}
	return nil
}

func (c *changes) delete(ctx context.Context, run runner) error {
	for _, w := range c.deletes {
		if w.kind == dibs.KindName {
			if err := forIDs(ctx, run, deleteEvents, w.ids); err != nil {
				return err
			}
			if err := forIDs(ctx, run, deleteStrayEvents, w.ids); err != nil {
				return err
			}
		}
	}
	return c.deletes.each((*shelf).dropping, func(_ dibs.Kind, _ *shelf, st *statement, args []any) error {
		return run.exec(ctx, st, args...)
	})
}

// forIDs runs a statement for all ids.
func forIDs(ctx context.Context, run runner, b *batch, ids []dibs.ID) error {
	for len(ids) > 0 {
		part := ids[:min(len(ids), maxBatch)]
		ids = ids[len(part):]
		st, size := b.fitting(len(part))
		if err := run.exec(ctx, st, appendIDs(nil, part, size)...); err != nil {
			return err
		}
	}
	return nil
}

// putRows writes all rows, each of so many columns.
func putRows[T any](ctx context.Context, run runner, b *batch, columns int, rows []T, appendRow func([]any, T) ([]any, error)) error {
	var args []any
	for len(rows) > 0 {
		st, size := b.within(len(rows))
		if args == nil {
			args = make([]any, 0, size*columns)
		}
		args = args[:0]
		var err error
		for _, row := range rows[:size] {
			if args, err = appendRow(args, row); err != nil {
				return err
			}
		}
		if err := run.exec(ctx, st, args...); err != nil {
			return err
		}
		rows = rows[size:]
	}
	return nil
}
