package sqlitestore

import (
	"context"
	"database/sql/driver"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
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

// readInt returns the one value of a statement without parameters.
func readInt(ctx context.Context, run runner, st *statement) (n int64, err error) {
	err = run.query(ctx, st, nil, func(row []driver.Value) error {
		n = asInt(row[0])
		return nil
	})
	return n, err
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

// in returns a batch of a text with a list of ids, and a rest.
func in(text string, rest ...string) *batch {
	return newBatch(func(n int) string { return text + " IN (" + params(n) + ")" + strings.Join(rest, "") })
}

// table has the statements for the records of a table.
type table struct {
	*sqlrow.Table
	columns            string // for SELECT, and the sum
	load, revs, remove *batch
	insert, upsert     *batch // an upsert also takes new rows, but costs them more
}

var (
	names     = newTable(sqlrow.Names, "n", "last_event")
	entities  = newTable(sqlrow.Entities)
	documents = newTable(sqlrow.Documents)

	rareColumns = slices.DeleteFunc(slices.Clone(sqlrow.Names.Columns), func(c sqlrow.Column) bool { return !c.Rare })
	holdColumns = slices.DeleteFunc(slices.Clone(sqlrow.Names.Columns), func(c sqlrow.Column) bool { return c.Rare })

	// insertHolds inserts names for a first reservation: it leaves out the rare columns, and
	// there is no row to replace.
	insertHolds = insert("dibs_names", slices.Concat([]string{"n", "last_event"}, listOf(holdColumns), []string{"sum"}), "")
)

// newTable returns the table whose rows begin with columns of their own, the first of which is
// then the key.
func newTable(t *sqlrow.Table, own ...string) *table {
	columns := listOf(t.Columns)
	from, rest, key := " FROM "+t.Name+" WHERE id", "", strings.Join(t.Key, ", ")
	if len(t.Key) > 1 {
		rest = " AND kind = ?"
	}
	if len(own) > 0 {
		key = own[0]
	}
	all, sum := slices.Concat(own, columns, []string{"sum"}), "sum"
	if slices.Contains(own, "last_event") {
		sum = "sum - ifnull(last_event, 0)"
	}
	// An upsert does not set columns that never change: SQLite would rewrite their indexes.
	var sets []string
	for _, column := range all {
		if column != key && !slices.Contains(t.Fixed, column) {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	list := strings.Join(columns, ", ") + ", " + sum
	return &table{
		Table: t, columns: list,
		load:   in("SELECT "+list+from, rest),
		revs:   in("SELECT id, rev"+from, rest),
		remove: in("DELETE"+from, rest),
		insert: insert(t.Name, all, ""),
		upsert: insert(t.Name, all, " ON CONFLICT ("+key+") DO UPDATE SET "+strings.Join(sets, ", ")),
	}
}

func listOf(columns []sqlrow.Column) (names []string) {
	for i := range columns {
		names = append(names, columns[i].Name)
	}
	return names
}

// insert returns the batch that inserts rows.
func insert(table string, columns []string, rest string) *batch {
	return newBatch(func(n int) string {
		row := "(" + params(len(columns)) + ")"
		return "INSERT OR FAIL INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(row+",", n), ",") + rest
	})
}

func tableOf(kind dibs.Kind) *table {
	switch kind {
	case dibs.KindName:
		return names
	case dibs.KindEntity:
		return entities
	default:
		return documents
	}
}

// idsOfKind are records of one kind.
type idsOfKind struct {
	kind dibs.Kind
	ids  []dibs.ID
}

// idsByKind is a list of records by kind. There are few kinds.
type idsByKind []idsOfKind

func (l *idsByKind) add(kind dibs.Kind, id dibs.ID) {
	for i := range *l {
		if (*l)[i].kind == kind {
			(*l)[i].ids = append((*l)[i].ids, id)
			return
		}
	}
	*l = append(*l, idsOfKind{kind, []dibs.ID{id}})
}

// take removes the first kind that is wanted, and returns it with its records.
func (l *idsByKind) take(wanted func(kind dibs.Kind, records int) bool) (taken idsOfKind) {
	i := slices.IndexFunc(*l, func(of idsOfKind) bool { return wanted(of.kind, len(of.ids)) })
	if i >= 0 {
		taken = (*l)[i]
		*l = slices.Delete(*l, i, i+1)
	}
	return taken
}

// each calls fn with statements of the chosen batch, and their arguments, for all records.
func (l idsByKind) each(choose func(*table) *batch, fn func(kind dibs.Kind, st *statement, args []any) error) error {
	for _, w := range l {
		table := tableOf(w.kind)
		var last []any
		if len(table.Key) > 1 {
			last = []any{string(w.kind)}
		}
		err := choose(table).each(w.ids, last, func(st *statement, args []any) error { return fn(w.kind, st, args) })
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with statements of the batch for all ids. Their arguments are the ids, of which
// the last is repeated up to the size of the statement, and further ones.
func (b *batch) each(ids []dibs.ID, further []any, fn func(st *statement, args []any) error) error {
	for len(ids) > 0 {
		part := ids[:min(len(ids), maxBatch)]
		ids = ids[len(part):]
		st, size := b.fitting(len(part))
		args := make([]any, 0, size+len(further))
		for i := range part {
			args = append(args, part[i][:])
		}
		for range size - len(part) {
			args = append(args, args[len(args)-1])
		}
		if err := fn(st, append(args, further...)); err != nil {
			return err
		}
	}
	return nil
}
