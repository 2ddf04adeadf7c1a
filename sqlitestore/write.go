package sqlitestore

import (
	"context"

	"github.com/calldibs/dibs"
)

// changes is what the groups of one commit write, by table.
type changes struct {
	present   map[record]present // what the groups have read, and what becomes of it
	yields    []dibs.ID
	deletes   sorted
	names     []*nameRow
	entities  []*dibs.EntityRecord
	documents []*dibs.Document
	events    []*eventRow
	loose     []*eventRow // of names that are not written
	redacts   []*dibs.Event
}

func (c *changes) add(g *dibs.Group) {
	for i := range g.Writes {
		w := &g.Writes[i]
		if w.Delete || w.Renew {
			ref := w.Record.Ref()
			c.deletes.add(ref.Kind, ref.ID)
			delete(c.present, record{ref.Kind, ref.ID}) // no event can refer to it
		}
		if w.Delete {
			continue
		}
		switch r := w.Record.(type) {
		case *dibs.NameRecord:
			c.names = append(c.names, &nameRow{NameRecord: r})
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
		c.events = append(c.events, &eventRow{Event: &g.Events[i]})
	}
	for i := range g.Redacts {
		c.redacts = append(c.redacts, &g.Redacts[i])
	}
}

var (
	// SQLite checks unique indexes row by row. Names that stop being an entity's
	// active one step aside first; so the order of the rows written after that
	// does not matter.
	parkNames = in(`UPDATE dibs_names SET state = 'alias' WHERE state = 'active' AND id`)

	insertHolds     = holds.insert(holds.list(), "")
	upsertNames     = names.upsert()
	upsertEntities  = entities.upsert()
	upsertDocuments = documents.upsert()
	insertEvents    = events.insert(events.list(), "")

	updateLastEvent = newStatement(`UPDATE dibs_names SET last_event = ? WHERE n = ?`)

	selectEnds = newStatement(`SELECT (SELECT max(n) FROM dibs_names), (SELECT max(seq) FROM dibs_events), (SELECT n FROM dibs_ends), (SELECT seq FROM dibs_ends)`)
)

func (c *changes) write(ctx context.Context, run runner) error {
	if err := forIDs(ctx, run, parkNames, c.yields); err != nil {
		return err
	}
	// Nobody else gives out numbers meanwhile: the transaction has the write lock.
	ends, err := readRow(ctx, run, selectEnds)
	if err != nil {
		return err
	}
	lastName, lastEvent := max(asInt(ends[0]), asInt(ends[2])), max(asInt(ends[1]), asInt(ends[3]))
	if err := c.delete(ctx, run, lastName, lastEvent); err != nil {
		return err
	}
	c.number(lastName)
	c.chain(lastEvent)
	if err := c.redact(ctx, run); err != nil {
		return err
	}
	return c.put(ctx, run)
}

// number gives new names the next numbers.
func (c *changes) number(last int64) {
	for _, n := range c.names {
		key := record{dibs.KindName, n.ID}
		p := c.present[key]
		if n.fresh = p.number == 0; n.fresh {
			last++
			p.number = last
			c.present[key] = p
		}
		n.number = p.number
	}
}

// chain gives events the next numbers, and ties each to the one before it.
func (c *changes) chain(last int64) {
	for _, e := range c.events {
		last++
		e.seq = last
		key := record{dibs.KindName, e.ID}
		if p := c.present[key]; p.number != 0 {
			e.name, e.prev = p.number, p.lastEvent
			p.lastEvent = e.seq
			c.present[key] = p
		}
	}
	written := make(map[int64]bool, len(c.names))
	for _, n := range c.names {
		n.lastEvent = c.present[record{dibs.KindName, n.ID}].lastEvent
		written[n.number] = true
	}
	for _, e := range c.events {
		if e.name != 0 && !written[e.name] {
			c.loose = append(c.loose, e)
		}
	}
}

// put writes all rows.
func (c *changes) put(ctx context.Context, run runner) error {
	var plain, other []*nameRow
	for _, n := range c.names {
		if n.plain() {
			plain = append(plain, n)
		} else {
			other = append(other, n)
		}
	}
	if err := putRows(ctx, run, insertHolds, heldColumns, plain, appendHold); err != nil {
		return err
	}
	if err := putRows(ctx, run, upsertNames, nameColumns, other, appendName); err != nil {
		return err
	}
	if err := putRows(ctx, run, upsertEntities, entityColumns, c.entities, appendEntity); err != nil {
		return err
	}
	if err := putRows(ctx, run, upsertDocuments, documentColumns, c.documents, appendDocument); err != nil {
		return err
	}
	for _, e := range c.loose {
		if err := run.exec(ctx, updateLastEvent, e.seq, e.name); err != nil {
			return err
		}
	}
	return putRows(ctx, run, insertEvents, eventColumns, c.events, appendEvent)
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
