package pgstore

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Inside a caller's transaction an error would end that transaction. So a Commit there first
// locks every row that it rests on, and inserts a placeholder for every absent one; only
// then it writes. A placeholder has revision 0, which no record has, and is in no index that
// could refuse it.

// countedCall is a statement that counts rows, and the count that it must have.
type countedCall struct {
	call
	want int
}

// lockCalls returns the statements that lock what the changes rest on, without failing if a
// row has changed. The order is that of every transaction: documents, entities, names.
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
	calls := removePlaceholderRows(nil, sql, documents, c.documents.insert)
	calls = removePlaceholderRows(calls, sql, entities, c.entities.insert)
	return removePlaceholderRows(calls, sql, names, c.names.insert)
}

func removePlaceholderRows[R any](calls []call, sql *statements, t table[R], inserts []*R) []call {
	for rows := range slices.Chunk(inserts, maxRows) {
		calls = append(calls, removePlaceholdersCall(sql, t, rows))
	}
	return calls
}
