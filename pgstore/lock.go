package pgstore

import "slices"

// An error would end the caller's transaction. So a Commit inside it first locks every row that
// the groups have read, and inserts a placeholder for every absent one; only then it writes.

// countedCall is a statement that counts rows, with the expected count.
type countedCall struct {
	call
	want int
}

// lockCalls returns the statements that lock all rows that were read. They do not fail if a row
// has changed.
func (c *changes) lockCalls(sql *statements) (calls []countedCall) {
	for _, t := range c.tables() {
		for rows := range slices.Chunk(t.share, maxRows) {
			calls = append(calls, countedCall{lockCall(sql, *t.table, rows, "SHARE", false), len(rows)})
		}
		for rows := range slices.Chunk(slices.Concat(t.update, t.renew, t.remove), maxRows) {
			calls = append(calls, countedCall{lockCall(sql, *t.table, rows, "UPDATE", false), len(rows)})
		}
		for rows := range slices.Chunk(t.insert, maxRows) {
			placeholders := make([]*row, len(rows))
			for i, row := range rows {
				placeholders[i] = row.placeholder()
			}
			calls = append(calls, countedCall{insertCall(sql, *t.table, placeholders, false), len(rows)})
		}
	}
	return calls
}

// updatePlaceholders turns inserts into updates, once the placeholders are there.
func (c *changes) updatePlaceholders() {
	for _, t := range c.tables() {
		t.update, t.insert = append(t.update, t.insert...), nil
	}
}

// removePlaceholders returns the statements that remove the placeholders.
func (c *changes) removePlaceholders(sql *statements) (calls []call) {
	for _, t := range c.tables() {
		calls = inChunks(calls, t.insert, func(rows []*row) call { return removePlaceholdersCall(sql, *t.table, rows) })
	}
	return calls
}
