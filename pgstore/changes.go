package pgstore

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// changes is what the groups of one transaction read and write, by table.
type changes struct {
	batch uuid
	stamp int64

	documents, entities, names rowChanges

	yields  []uuid
	counts  map[dibs.NameCount]int // what changes in the numbers of names
	events  []*eventRow
	redacts []*eventRow
	window  dibs.Window

	now      int64         // the database's clock, from its answer
	inserted map[uuid]bool // the new names that were absent, from the answer
}

// rowChanges is what a transaction does to the rows of one table.
type rowChanges struct {
	table                  *table[row]
	insert, update, remove []*row
	renew                  []*row // replace rows with the same key
	share                  []*row // read and not changed
}

// tables returns the tables in the order in which every transaction takes them. Entities come
// before names so that two processes that give one entity a name meet at the entity, and not at
// the unique index on active names.
func (c *changes) tables() [3]*rowChanges { return [3]*rowChanges{&c.documents, &c.entities, &c.names} }

func (c *changes) tableOf(kind dibs.Kind) *rowChanges {
	switch kind {
	case dibs.KindName:
		return &c.names
	case dibs.KindEntity:
		return &c.entities
	default:
		return &c.documents
	}
}

func (s *Store) newChanges() *changes {
	return &changes{
		batch: s.batches.next(), stamp: s.stamps.next(), counts: make(map[dibs.NameCount]int),
		documents: rowChanges{table: &documents}, entities: rowChanges{table: &entities}, names: rowChanges{table: &names},
	}
}

// add adds a group.
func (c *changes) add(g *dibs.Group) error {
	c.window = c.window.Intersect(g.Window)
	writes := findWrites(g)
	for i := range g.Reads {
		if err := c.addRead(&g.Reads[i], writes(g.Reads[i].Ref)); err != nil {
			return err
		}
	}
	for i := range g.Writes {
		if w := &g.Writes[i]; w.Yields {
			c.yields = append(c.yields, uuid(w.Record.Ref().ID))
		}
	}
	record.Recount(c.counts, g.Writes)
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
	written := make(map[uuid]*row, len(c.names.insert)+len(c.names.update))
	for _, rows := range [][]*row{c.names.insert, c.names.update, c.names.renew} {
		for _, n := range rows {
			written[n.id] = n
		}
	}
	first, alone := int64(0), false // of the row of the event before
	for _, e := range c.events {
		n, ok := written[e.name]
		if !ok {
			e.loose = e.name
		}
		// A statement has maxRows events, and no other continues its last row.
		if now := e.loose != (uuid{}); now || alone || e.ord == first+eventsPerRow || e.ord%maxRows == 0 {
			first, alone = e.ord, now
		}
		e.first, e.place = first, e.ord-first
		switch {
		case !ok:
			continue
		case n.lastBatch == uuid{} && (n.renews || n.expected == 0): // it begins a history
		case n.lastBatch == uuid{}:
			e.follows = n.id
		default:
			e.prev = fmt.Sprintf("%x/%d", n.lastBatch, n.lastOrd)
		}
		n.lastBatch, n.lastOrd = c.batch, e.ord
	}
}

// fewWrites are found faster by comparing than by hashing.
const fewWrites = 16

// findWrites returns a function that finds the group's write of a record, or nil.
func findWrites(g *dibs.Group) func(dibs.Ref) *dibs.Write {
	if len(g.Writes) <= fewWrites {
		return func(ref dibs.Ref) *dibs.Write {
			i := slices.IndexFunc(g.Writes, func(w dibs.Write) bool {
				own := w.Record.Ref()
				return own.ID == ref.ID && own.Kind == ref.Kind
			})
			if i < 0 {
				return nil
			}
			return &g.Writes[i]
		}
	}
	type key struct {
		kind dibs.Kind
		id   dibs.ID
	}
	writes := make(map[key]*dibs.Write, len(g.Writes))
	for i := range g.Writes {
		ref := g.Writes[i].Record.Ref()
		writes[key{ref.Kind, ref.ID}] = &g.Writes[i]
	}
	return func(ref dibs.Ref) *dibs.Write { return writes[key{ref.Kind, ref.ID}] }
}

// addRead adds a record that a group read, and the group's change of it, if there is one. A group
// reads every record that it writes.
func (c *changes) addRead(read *dibs.Read, write *dibs.Write) error {
	rows := c.tableOf(read.Ref.Kind)
	expected := int64(read.Rev)
	switch {
	case write == nil:
		if !rows.sharedLast(read.Ref) {
			rows.share = append(rows.share, newKey(read.Ref, expected))
		}
		return nil
	case write.Delete:
		rows.remove = append(rows.remove, newKey(read.Ref, expected))
		return nil
	}
	row, err := newRow(write.Record, c.stamp, expected)
	switch {
	case expected == 0:
		rows.insert = append(rows.insert, row)
	case write.Renew:
		row.renews = true
		rows.renew = append(rows.renew, row)
	default:
		rows.update = append(rows.update, row)
	}
	return err
}

// sharedLast reports whether a row was the last one added as shared. All reservations in a
// namespace read the same document, which is added once.
func (c *rowChanges) sharedLast(ref dibs.Ref) bool {
	n := len(c.share)
	return n > 0 && c.share[n-1].id == uuid(ref.ID) && c.share[n-1].kind == ref.Kind
}

// sort puts rows into the order of their locks, and drops duplicates of shared rows: several
// groups may read a row that none of them changes.
func (c *changes) sort() {
	compare := func(a, b *row) int { return cmp.Or(cmp.Compare(a.kind, b.kind), bytes.Compare(a.id[:], b.id[:])) }
	for _, t := range c.tables() {
		for _, rows := range [][]*row{t.insert, t.update, t.renew, t.remove, t.share} {
			slices.SortFunc(rows, compare)
		}
		t.share = slices.CompactFunc(t.share, func(a, b *row) bool { return compare(a, b) == 0 })
	}
}

// calls returns the statements of the whole transaction except BEGIN and COMMIT. Each fails,
// and so ends the transaction, if a row is not as it was read.
func (c *changes) calls(sql *statements) []call {
	calls := c.documents.calls(nil, sql)
	calls = c.entities.calls(calls, sql)
	// Events before names: the rows of names still point to the previous events, and the
	// events of a deleted name are found through its row.
	calls = inChunks(calls, slices.Concat(c.names.remove, c.names.renew), func(rows []*row) call {
		return call{text: sql.named("delete history"), args: []any{values(rows, func(n *row) uuid { return n.id })}}
	})
	calls = inChunks(calls, c.redacts, func(rows []*eventRow) call { return redactCall(sql, rows) })
	calls = inChunks(calls, c.events, func(rows []*eventRow) call { return insertEventsCall(sql, c.batch, rows) })
	// PostgreSQL checks the unique index on active names row by row. Names that stop being
	// active are deactivated first, so that no order of rows can violate it.
	calls = inChunks(calls, c.yields, func(ids []uuid) call {
		return call{text: sql.named("deactivate"), args: []any{pgtype.FlatArray[uuid](ids)}}
	})
	calls = c.names.calls(calls, sql)
	// The batch comes last: it checks the window when all locks are held.
	return append(calls, call{
		text: sql.named("insert batch"),
		args: []any{c.batch, c.stamp, len(c.events), int64(c.window.From), int64(c.window.Before), c.encodeCounts()},
		scan: scanInto(&c.now),
	})
}

// encodeCounts returns a line for each count that changes.
func (c *changes) encodeCounts() string {
	var lines []byte
	for _, n := range record.Counts(c.counts) {
		lines = fmt.Appendf(lines, "%s\t%s\t%d\n", escape(n.Namespace), n.State, n.Count)
	}
	return string(bytes.TrimSuffix(lines, []byte("\n")))
}

// calls appends the statements for the rows of one table.
func (c *rowChanges) calls(calls []call, sql *statements) []call {
	t, whole := *c.table, *c.table
	whole.fixed = t.key
	calls = inChunks(calls, c.share, func(rows []*row) call { return lockCall(sql, t, rows, "SHARE", true) })
	calls = inChunks(calls, c.update, func(rows []*row) call { return updateCall(sql, "update ", t, rows) })
	calls = inChunks(calls, c.renew, func(rows []*row) call { return updateCall(sql, "renew ", whole, rows) })
	calls = inChunks(calls, c.remove, func(rows []*row) call { return removeCall(sql, t, rows) })
	return inChunks(calls, c.insert, func(rows []*row) call { return insertCall(sql, t, rows, true) })
}

// inChunks appends a call for every maxRows rows.
func inChunks[R any](calls []call, rows []R, newCall func(rows []R) call) []call {
	for part := range slices.Chunk(rows, maxRows) {
		calls = append(calls, newCall(part))
	}
	return calls
}
