package pgstore

import (
	"slices"

	"github.com/calldibs/dibs"
)

// An error would end the caller's transaction. So a Commit inside it first locks every row that
// the groups have read, and inserts a placeholder for every absent one; only then it writes. A
// placeholder has revision 0, which no record has, and is in no index that could refuse it.

// countedCall is a statement that counts rows, with the expected count.
type countedCall struct {
	call
	want int
}

// lockCalls returns the statements that lock all rows that were read. They do not fail if a row
// has changed. The order is that of every transaction: documents, entities, names.
func (c *changes) lockCalls(sql *statements) []countedCall {
	calls := lockRows(nil, sql, documents, &c.documents, func(d *documentRow) *documentRow {
		return &documentRow{kind: d.kind, id: d.id, scope: d.scope, label: d.label}
	})
	calls = lockRows(calls, sql, entities, &c.entities, func(e *entityRow) *entityRow {
		return &entityRow{id: e.id, scope: e.scope, typ: e.typ, entityID: e.entityID}
	})
	return lockRows(calls, sql, names, &c.names, func(n *nameRow) *nameRow {
		return &nameRow{
			id: n.id, namespace: n.namespace, canonical: n.canonical, epoch: n.epoch,
			state: string(dibs.Free), status: string(dibs.StatusReleased),
		}
	})
}

func lockRows[R any](calls []countedCall, sql *statements, t table[R], c *rowChanges[R], placeholder func(*R) *R) []countedCall {
	for rows := range slices.Chunk(c.share, maxRows) {
		calls = append(calls, countedCall{lockCall(sql, t, rows, "SHARE", false), len(rows)})
	}
	for rows := range slices.Chunk(slices.Concat(c.update, c.renew, c.remove), maxRows) {
		calls = append(calls, countedCall{lockCall(sql, t, rows, "UPDATE", false), len(rows)})
	}
	for rows := range slices.Chunk(c.insert, maxRows) {
		placeholders := make([]*R, len(rows))
		for i, row := range rows {
			placeholders[i] = placeholder(row)
		}
		calls = append(calls, countedCall{insertCall(sql, t, placeholders, false), len(rows)})
	}
	return calls
}

// updatePlaceholders turns inserts into updates, once the placeholders are there.
func (c *changes) updatePlaceholders() {
	c.names.update, c.names.insert = append(c.names.update, c.names.insert...), nil
	c.entities.update, c.entities.insert = append(c.entities.update, c.entities.insert...), nil
	c.documents.update, c.documents.insert = append(c.documents.update, c.documents.insert...), nil
}

// removePlaceholders returns the statements that remove the placeholders.
func (c *changes) removePlaceholders(sql *statements) []call {
	calls := inChunks(nil, c.documents.insert, func(rows []*documentRow) call { return removePlaceholdersCall(sql, documents, rows) })
	calls = inChunks(calls, c.entities.insert, func(rows []*entityRow) call { return removePlaceholdersCall(sql, entities, rows) })
	return inChunks(calls, c.names.insert, func(rows []*nameRow) call { return removePlaceholdersCall(sql, names, rows) })
}
