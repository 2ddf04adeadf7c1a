package pgstore

import (
	"slices"

	"github.com/calldibs/dibs"
)

// checkedCall is a call that counts, and what it has to count.
type checkedCall struct {
	call
	want int
}

// locking returns the statements that take what the changes rest on, without
// failing where something has changed: documents, entities and names, as in every
// transaction.
func (c *changes) locking(sql *statements) []checkedCall {
	calls := lockCalls(nil, sql, documents, &c.documents, emptyDocument)
	calls = lockCalls(calls, sql, entities, &c.entities, emptyEntity)
	return lockCalls(calls, sql, names, &c.names, emptyName)
}

func lockCalls[R any](calls []checkedCall, sql *statements, t table[R], c *recordChanges[R], empty func(*R) *R) []checkedCall {
	for rows := range slices.Chunk(c.share, maxRows) {
		calls = append(calls, checkedCall{lockCall(sql, t, rows, "SHARE", false), len(rows)})
	}
	for rows := range slices.Chunk(slices.Concat(c.update, c.renew, c.remove), maxRows) {
		calls = append(calls, checkedCall{lockCall(sql, t, rows, "UPDATE", false), len(rows)})
	}
	for rows := range slices.Chunk(c.insert, maxRows) {
		places := make([]*R, len(rows))
		for i, row := range rows {
			places[i] = empty(row)
		}
		calls = append(calls, checkedCall{insertCall(sql, t, places, false), len(rows)})
	}
	return calls
}

// A row that keeps a place has revision 0, which no record has, and is in no index
// that could refuse it.

func emptyName(n *nameRow) *nameRow {
	return &nameRow{
		id: n.id, namespace: n.namespace, canonical: n.canonical, epoch: n.epoch,
		state: string(dibs.Free), status: string(dibs.StatusReleased),
	}
}

func emptyEntity(e *entityRow) *entityRow {
	return &entityRow{id: e.id, scope: e.scope, typ: e.typ, entityID: e.entityID}
}

func emptyDocument(d *documentRow) *documentRow {
	return &documentRow{kind: d.kind, id: d.id, scope: d.scope, label: d.label}
}

// occupied takes in that what was absent has a row that keeps its place.
func (c *changes) occupied() {
	c.names.update, c.names.insert = append(c.names.update, c.names.insert...), nil
	c.entities.update, c.entities.insert = append(c.entities.update, c.entities.insert...), nil
	c.documents.update, c.documents.insert = append(c.documents.update, c.documents.insert...), nil
}

// clearing returns the statements that remove rows which keep places.
func (c *changes) clearing(sql *statements) []call {
	calls := clearCalls(nil, sql, documents, c.documents.insert)
	calls = clearCalls(calls, sql, entities, c.entities.insert)
	return clearCalls(calls, sql, names, c.names.insert)
}

func clearCalls[R any](calls []call, sql *statements, t table[R], inserts []*R) []call {
	for rows := range slices.Chunk(inserts, maxRows) {
		calls = append(calls, clearCall(sql, t, rows))
	}
	return calls
}
