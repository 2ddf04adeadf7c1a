package pgstore

import (
	"bytes"
	"slices"

	"github.com/calldibs/dibs"
)

// changes is what the groups of one transaction read and write, by table.
type changes struct {
	batch uuid
	stamp int64

	names     recordChanges[nameRow]
	entities  recordChanges[entityRow]
	documents recordChanges[documentRow]
	yields    []dibs.ID
	events    []*eventRow
	redacts   []*eventRow
	window    dibs.Window

	now int64 // the database's clock, once it has answered
}

// recordChanges is what becomes of the rows of one table.
type recordChanges[R any] struct {
	insert, update, remove []*R
	renew                  []*R // in place of others with the same key
	share                  []*R // read, and not changed
}

func newChanges(batch uuid, stamp int64) *changes { return &changes{batch: batch, stamp: stamp} }

// add takes a group in.
func (c *changes) add(g *dibs.Group) error {
	c.window = c.window.Intersect(g.Window)
	for i := range g.Reads {
		if err := c.addRead(g, &g.Reads[i]); err != nil {
			return err
		}
	}
	for i := range g.Writes {
		if w := &g.Writes[i]; w.Yields {
			c.yields = append(c.yields, w.Record.Ref().ID)
		}
	}
	for i := range g.Events {
		row, err := newEventRow(&g.Events[i], len(c.events))
		if err != nil {
			return err
		}
		c.events = append(c.events, row)
	}
	return c.addRedacts(g.Redacts)
}

// chain ties the events of each name together, and to the name's row.
func (c *changes) chain() {
	written := make(map[uuid]*nameRow, len(c.names.insert)+len(c.names.update))
	for _, n := range c.names.insert {
		written[n.id] = n
	}
	for _, n := range c.names.update {
		written[n.id] = n
	}
	begins := make(map[uuid]bool, len(c.names.renew)) // a history of its own
	for _, n := range c.names.renew {
		written[n.id], begins[n.id] = n, true
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

// addRead takes in what a group read, and what becomes of it: every write is among
// the reads.
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
			if write != nil || !c.shares(read.Ref) {
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
		row := newDocumentRow(record)
		row.expected = expected
		c.documents.addRow(write, expected, row)
	}
	return nil
}

// shares reports whether a document was just taken in: all reservations in a
// namespace rest on the same one.
func (c *changes) shares(ref dibs.Ref) bool {
	n := len(c.documents.share)
	return n > 0 && c.documents.share[n-1].id == uuid(ref.ID) && c.documents.share[n-1].kind == string(ref.Kind)
}

// addKey takes in a record that goes, or only was read.
func (c *recordChanges[R]) addKey(remove bool, key *R) {
	if remove {
		c.remove = append(c.remove, key)
	} else {
		c.share = append(c.share, key)
	}
}

// addRow takes in a record that comes, or changes.
func (c *recordChanges[R]) addRow(write *dibs.Write, expected int64, row *R) {
	switch {
	case expected == 0:
		c.insert = append(c.insert, row)
	case write.Renew:
		c.renew = append(c.renew, row)
	default:
		c.update = append(c.update, row)
	}
}

// sort puts rows into the order in which they are locked, and drops what is there
// twice: groups may share what none of them changes.
func (c *changes) sort() {
	byName := func(a, b *nameRow) int { return bytes.Compare(a.id[:], b.id[:]) }
	byEntity := func(a, b *entityRow) int { return bytes.Compare(a.id[:], b.id[:]) }
	byDocument := func(a, b *documentRow) int {
		if a.kind != b.kind {
			return bytes.Compare([]byte(a.kind), []byte(b.kind))
		}
		return bytes.Compare(a.id[:], b.id[:])
	}
	c.names.sort(byName)
	c.entities.sort(byEntity)
	c.documents.sort(byDocument)
}

func (c *recordChanges[R]) sort(compare func(a, b *R) int) {
	for _, rows := range []*[]*R{&c.insert, &c.update, &c.renew, &c.remove, &c.share} {
		slices.SortFunc(*rows, compare)
	}
	c.share = slices.CompactFunc(c.share, func(a, b *R) bool { return compare(a, b) == 0 })
}

// calls returns the statements of the whole transaction but BEGIN and COMMIT. Each
// fails, and so ends all of it, where something is not as it was read.
//
// Documents come first, then entities, then names, in every transaction. Entities
// before names: two processes that give one entity a name at once meet at the
// entity, and not at the unique index on active names.
func (c *changes) calls(sql *statements) []call {
	calls := recordCalls(nil, sql, documents, &c.documents)
	calls = recordCalls(calls, sql, entities, &c.entities)
	// Events before names: the rows of those have the events before, and a name that
	// goes takes them along.
	for rows := range slices.Chunk(slices.Concat(c.names.remove, c.names.renew), maxRows) {
		calls = append(calls, call{text: sql.feed.forget, args: []any{values(rows, func(n *nameRow) *uuid { return &n.id })}})
	}
	for rows := range slices.Chunk(c.redacts, maxRows) {
		calls = append(calls, redactCall(sql, rows))
	}
	for rows := range slices.Chunk(c.events, maxRows) {
		calls = append(calls, tellCall(sql, c.batch, rows))
	}
	// The unique index on active names is checked row by row. Names that stop being
	// active step aside first, so that no order of rows can break it.
	for ids := range slices.Chunk(c.yields, maxRows) {
		calls = append(calls, call{text: sql.park, args: []any{uuids(ids)}})
	}
	calls = recordCalls(calls, sql, names, &c.names)
	// Last the batch, with which the window is checked now that all locks are held.
	return append(calls, call{
		text: sql.close,
		args: []any{c.batch, c.stamp, len(c.events), int64(c.window.From), int64(c.window.Before)},
		scan: func(row scanner) error { return row.Scan(&c.now) },
	})
}

// recordCalls appends what happens to the rows of one table.
func recordCalls[R any](calls []call, sql *statements, t table[R], c *recordChanges[R]) []call {
	for rows := range slices.Chunk(c.share, maxRows) {
		calls = append(calls, lockCall(sql, t, rows, "SHARE", true))
	}
	for rows := range slices.Chunk(c.update, maxRows) {
		calls = append(calls, updateCall(sql, t, rows))
	}
	for rows := range slices.Chunk(c.renew, maxRows) {
		calls = append(calls, renewCall(sql, t, rows))
	}
	for rows := range slices.Chunk(c.remove, maxRows) {
		calls = append(calls, removeCall(sql, t, rows))
	}
	for rows := range slices.Chunk(c.insert, maxRows) {
		calls = append(calls, insertCall(sql, t, rows, true))
	}
	return calls
}
