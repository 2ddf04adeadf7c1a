package pgstore

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
)

// changes is what the groups of one transaction read and write, by table.
type changes struct {
	batch uuid
	stamp int64

	names     rowChanges[nameRow]
	entities  rowChanges[entityRow]
	documents rowChanges[documentRow]
	yields    []uuid
	events    []*eventRow
	redacts   []*eventRow
	window    dibs.Window

	now int64 // the database's clock, from its answer
}

// rowChanges is what a transaction does to the rows of one table.
type rowChanges[R any] struct {
	insert, update, remove []*R
	renew                  []*R // replace rows with the same key
	share                  []*R // read and not changed
}

func (s *Store) newChanges() *changes {
	return &changes{batch: s.batches.next(), stamp: s.stamps.next()}
}

// add adds a group.
func (c *changes) add(g *dibs.Group) error {
	c.window = c.window.Intersect(g.Window)
	for i := range g.Reads {
		if err := c.addRead(g, &g.Reads[i]); err != nil {
			return err
		}
	}
	for i := range g.Writes {
		if w := &g.Writes[i]; w.Yields {
			c.yields = append(c.yields, uuid(w.Record.Ref().ID))
		}
	}
	for i := range g.Events {
		row, err := newEventRow(&g.Events[i], len(c.events))
		if err != nil {
			return err
		}
		c.events = append(c.events, row)
	}
	for i := range g.Redacts {
		at, err := parseCursor(g.Redacts[i].Cursor)
		if err != nil {
			return err
		}
		row, err := newEventRow(&g.Redacts[i], int(at.ord))
		if err != nil {
			return err
		}
		row.seq = at.seq
		c.redacts = append(c.redacts, row)
	}
	return nil
}

// chain links the events of each name to each other and to the name's row.
func (c *changes) chain() {
	written := make(map[uuid]*nameRow, len(c.names.insert)+len(c.names.update))
	for _, rows := range [][]*nameRow{c.names.insert, c.names.update, c.names.renew} {
		for _, n := range rows {
			written[n.id] = n
		}
	}
	begins := make(map[uuid]bool, len(c.names.renew)) // names that begin a new history
	for _, n := range c.names.renew {
		begins[n.id] = true
	}
	for _, e := range c.events {
		n, ok := written[e.name]
		switch {
		case !ok:
			e.loose = e.name != uuid{}
			continue
		case n.lastBatch == uuid{} && begins[n.id]:
		case n.lastBatch == uuid{}:
			e.follows = n.id
		default:
			e.prevBatch, e.prevOrd = n.lastBatch, n.lastOrd
		}
		n.lastBatch, n.lastOrd = c.batch, e.ord
	}
}

// addRead adds a record that a group read, and the group's change of it. A group reads every
// record that it writes.
func (c *changes) addRead(g *dibs.Group, read *dibs.Read) error {
	var write *dibs.Write
	for i := range g.Writes {
		if ref := g.Writes[i].Record.Ref(); ref.ID == read.Ref.ID && ref.Kind == read.Ref.Kind {
			write = &g.Writes[i]
		}
	}
	expected := int64(read.Rev)
	if write == nil || write.Delete {
		switch read.Ref.Kind {
		case dibs.KindName:
			c.names.addKey(write != nil, &nameRow{id: uuid(read.Ref.ID), expected: expected})
		case dibs.KindEntity:
			c.entities.addKey(write != nil, &entityRow{id: uuid(read.Ref.ID), expected: expected})
		default:
			if write != nil || !c.sharedLast(read.Ref) {
				c.documents.addKey(write != nil, &documentRow{kind: string(read.Ref.Kind), id: uuid(read.Ref.ID), expected: expected})
			}
		}
		return nil
	}
	switch record := write.Record.(type) {
	case *dibs.NameRecord:
		row, err := newNameRow(record, c.stamp)
		row.expected = expected
		c.names.addRow(write, expected, row)
		return err
	case *dibs.EntityRecord:
		row, err := newEntityRow(record, c.stamp)
		row.expected = expected
		c.entities.addRow(write, expected, row)
		return err
	case *dibs.Document:
		c.documents.addRow(write, expected, newDocumentRow(record, expected))
	}
	return nil
}

// sharedLast reports whether a document was the last one added as shared. All reservations in a
// namespace read the same document, which is added once.
func (c *changes) sharedLast(ref dibs.Ref) bool {
	n := len(c.documents.share)
	return n > 0 && c.documents.share[n-1].id == uuid(ref.ID) && c.documents.share[n-1].kind == string(ref.Kind)
}

// addKey adds a row that is removed, or only read.
func (c *rowChanges[R]) addKey(remove bool, key *R) {
	if remove {
		c.remove = append(c.remove, key)
	} else {
		c.share = append(c.share, key)
	}
}

// addRow adds a row that is written.
func (c *rowChanges[R]) addRow(write *dibs.Write, expected int64, row *R) {
	switch {
	case expected == 0:
		c.insert = append(c.insert, row)
	case write.Renew:
		c.renew = append(c.renew, row)
	default:
		c.update = append(c.update, row)
	}
}

// sort puts rows into the order of their locks, and drops duplicates of shared rows: several
// groups may read a row that none of them changes.
func (c *changes) sort() {
	c.names.sort(func(a, b *nameRow) int { return bytes.Compare(a.id[:], b.id[:]) })
	c.entities.sort(func(a, b *entityRow) int { return bytes.Compare(a.id[:], b.id[:]) })
	c.documents.sort(func(a, b *documentRow) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), bytes.Compare(a.id[:], b.id[:]))
	})
}

func (c *rowChanges[R]) sort(compare func(a, b *R) int) {
	for _, rows := range []*[]*R{&c.insert, &c.update, &c.renew, &c.remove, &c.share} {
		slices.SortFunc(*rows, compare)
	}
	c.share = slices.CompactFunc(c.share, func(a, b *R) bool { return compare(a, b) == 0 })
}

// calls returns the statements of the whole transaction except BEGIN and COMMIT. Each fails,
// and so ends the transaction, if a row is not as it was read.
//
// Every transaction takes documents first, then entities, then names. Entities come before
// names so that two processes that give one entity a name meet at the entity, and not at the
// unique index on active names.
func (c *changes) calls(sql *statements) []call {
	calls := rowCalls(nil, sql, documents, &c.documents)
	calls = rowCalls(calls, sql, entities, &c.entities)
	// Events before names: the rows of names still point to the previous events, and the
	// events of a deleted name are found through its row.
	calls = inChunks(calls, slices.Concat(c.names.remove, c.names.renew), func(rows []*nameRow) call {
		return call{text: sql.feed.deleteHistory, args: []any{values(rows, func(n *nameRow) *uuid { return &n.id })}}
	})
	calls = inChunks(calls, c.redacts, func(rows []*eventRow) call { return redactCall(sql, rows) })
	calls = inChunks(calls, c.events, func(rows []*eventRow) call { return insertEventsCall(sql, c.batch, rows) })
	// PostgreSQL checks the unique index on active names row by row. Names that stop being
	// active are deactivated first, so that no order of rows can violate it.
	calls = inChunks(calls, c.yields, func(ids []uuid) call {
		return call{text: sql.deactivate, args: []any{pgtype.FlatArray[uuid](ids)}}
	})
	calls = rowCalls(calls, sql, names, &c.names)
	// The batch comes last: it checks the window when all locks are held.
	return append(calls, call{
		text: sql.insertBatch,
		args: []any{c.batch, c.stamp, len(c.events), int64(c.window.From), int64(c.window.Before)},
		scan: scanInto(&c.now),
	})
}

// rowCalls appends the statements for the rows of one table.
func rowCalls[R any](calls []call, sql *statements, t table[R], c *rowChanges[R]) []call {
	whole := t
	whole.fixed = t.key
	calls = inChunks(calls, c.share, func(rows []*R) call { return lockCall(sql, t, rows, "SHARE", true) })
	calls = inChunks(calls, c.update, func(rows []*R) call { return updateCall(sql, "update ", t, rows) })
	calls = inChunks(calls, c.renew, func(rows []*R) call { return updateCall(sql, "renew ", whole, rows) })
	calls = inChunks(calls, c.remove, func(rows []*R) call { return removeCall(sql, t, rows) })
	return inChunks(calls, c.insert, func(rows []*R) call { return insertCall(sql, t, rows, true) })
}

// inChunks appends a call for every maxRows rows.
func inChunks[R any](calls []call, rows []R, newCall func(rows []R) call) []call {
	for part := range slices.Chunk(rows, maxRows) {
		calls = append(calls, newCall(part))
	}
	return calls
}
