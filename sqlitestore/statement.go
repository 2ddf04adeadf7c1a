package sqlitestore

import (
	"context"
	"database/sql/driver"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// statement is one SQL text. Connections keep their prepared statements by its address.
type statement struct {
	text func() string
}

func newStatement(text string) *statement {
	return &statement{func() string { return text }}
}

// listStatements caches the statements of listings: one for each combination of filters.
var listStatements sync.Map // of string to *statement

// cachedStatement returns the statement for a text, always the same one.
func cachedStatement(text string) *statement {
	if st, ok := listStatements.Load(text); ok {
		return st.(*statement)
	}
	st, _ := listStatements.LoadOrStore(text, newStatement(text))
	return st.(*statement)
}

// runner executes statements: on a connection that keeps them prepared, or in a caller's
// transaction.
type runner interface {
	// query calls fn with every row. The row is valid until fn returns.
	query(ctx context.Context, st *statement, args []any, fn func(row []driver.Value) error) error
	exec(ctx context.Context, st *statement, args ...any) error
}

// readRow returns the one row of a statement without parameters.
func readRow(ctx context.Context, run runner, st *statement) (one []driver.Value, err error) {
	err = run.query(ctx, st, nil, func(row []driver.Value) error {
		one = slices.Clone(row)
		return nil
	})
	return one, err
}

const (
	batchSizes = 9
	maxBatch   = 1 << (batchSizes - 1) // 256 names are 8,448 parameters; SQLite takes 32,766
)

// batch is a statement for many rows, in sizes of 1, 2, 4 … 256: few texts serve every number
// of rows and stay prepared.
type batch [batchSizes]*statement

func newBatch(text func(rows int) string) *batch {
	var b batch
	for i := range b {
		b[i] = &statement{sync.OnceValue(func() string { return text(1 << i) })}
	}
	return &b
}

// fitting returns the smallest statement for at least n rows, and its size, for callers that
// can repeat the last row.
func (b *batch) fitting(n int) (*statement, int) {
	i := bits.Len(uint(n - 1))
	return b[i], 1 << i
}

// within returns the largest statement for at most n rows, and its size.
func (b *batch) within(n int) (*statement, int) {
	i := min(bits.Len(uint(n))-1, batchSizes-1)
	return b[i], 1 << i
}

// params returns n parameters: ?,?,?
func params(n int) string {
	return strings.TrimSuffix(strings.Repeat("?,", n), ",")
}

// in returns a batch of a text that ends with a list of ids.
func in(text string) *batch {
	return newBatch(func(n int) string { return text + " IN (" + params(n) + ")" })
}
