package pgstore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// column is a column of a table, and how it maps to the Go struct of a row.
type column[R any] struct {
	name   string
	typ    string
	orNull bool // NULL stands for Go's zero value
	// form returns how the values of rows are passed, and the argument.
	form func(rows []*R) (form, any)
	dest func(row *R) any // the destination for Scan
}

// form is how a statement gets the values of a column. Most columns of a batch have the same
// value in all rows, and need no array.
type form byte

const (
	zeros form = '0' // zero in all rows: a literal
	same  form = '1' // one value in all rows: a parameter
	each  form = 'n' // an array
)

func newColumn[R, V any](name, typ string, at func(*R) *V, equal func(a, b V) bool) column[R] {
	var zero V
	return column[R]{
		name: name, typ: typ,
		dest: func(row *R) any { return at(row) },
		form: func(rows []*R) (form, any) {
			first := *at(rows[0])
			if !slices.ContainsFunc(rows[1:], func(row *R) bool { return !equal(*at(row), first) }) {
				if equal(first, zero) {
					return zeros, nil
				}
				return same, first
			}
			return each, values(rows, at)
		},
	}
}

func values[R, V any](rows []*R, at func(*R) *V) pgtype.FlatArray[V] {
	list := make(pgtype.FlatArray[V], len(rows))
	for i, row := range rows {
		list[i] = *at(row)
	}
	return list
}

func equal[V comparable](a, b V) bool { return a == b }

func id[R any](name string, at func(*R) *uuid) column[R] {
	return newColumn(name, "uuid", at, equal)
}

func number[R any](name string, at func(*R) *int64) column[R] {
	return newColumn(name, "bigint", at, equal)
}

func flag[R any](name string, at func(*R) *bool) column[R] {
	return newColumn(name, "boolean", at, equal)
}

func text[R any](name string, at func(*R) *string) column[R] {
	return newColumn(name, "text", at, equal)
}

func blob[R any](name string, at func(*R) *[]byte) column[R] {
	return newColumn(name, "bytea", at, bytes.Equal)
}

// always makes a column that is an array whenever there are several rows. The length of such an
// array is the number of rows.
func always[R, V any](newOf func(string, func(*R) *V) column[R], name string, at func(*R) *V) column[R] {
	c := newOf(name, at)
	c.form = func(rows []*R) (form, any) {
		if len(rows) == 1 {
			return same, *at(rows[0])
		}
		return each, values(rows, at)
	}
	return c
}

// orNull makes a column that holds NULL instead of Go's zero value. NULL takes no space, and
// reads better in psql.
func orNull[R any](c column[R]) column[R] {
	c.orNull = true
	return c
}

// zero is the literal for Go's zero value.
func (c *column[R]) zero() string {
	switch c.typ {
	case "uuid":
		return "'00000000-0000-0000-0000-000000000000'::uuid"
	case "bigint":
		return "0::bigint"
	case "boolean":
		return "false"
	}
	return "''::" + c.typ
}

// table describes a table.
type table[R any] struct {
	name    string
	columns []column[R]
	key     []string // the columns that identify a row
	fixed   []string // columns that never change, the key among them

	// expected is the revision that a row must have. It is not a column of the table.
	expected column[R]
}

// expecting is the table with its key, the columns that can change, and the expected
// revisions.
func (t table[R]) expecting() table[R] {
	t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(c column[R]) bool {
		return slices.Contains(t.fixed, c.name) && !slices.Contains(t.key, c.name)
	})
	t.columns = append(t.columns, t.expected)
	return t
}

// keysOnly is the table with its key alone.
func (t table[R]) keysOnly() table[R] {
	t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(c column[R]) bool { return !slices.Contains(t.key, c.name) })
	return t
}

// expectingKeys is the table with its key and the expected revisions.
func (t table[R]) expectingKeys() table[R] {
	keys := t.keysOnly()
	keys.columns = append(keys.columns, t.expected)
	return keys
}

// join returns an expression for every column, separated by commas.
func (t table[R]) join(format func(c *column[R]) string) string {
	list := make([]string, len(t.columns))
	for i := range t.columns {
		list[i] = format(&t.columns[i])
	}
	return strings.Join(list, ", ")
}

// list returns the names of the columns.
func (t table[R]) list() string { return t.join(func(c *column[R]) string { return c.name }) }

// reading returns the columns for SELECT. An outer join may make any of them NULL.
func (t table[R]) reading(alias string) string {
	return t.join(func(c *column[R]) string { return fmt.Sprintf("coalesce(%s.%s, %s)", alias, c.name, c.zero()) })
}

// keys returns the key columns of an alias.
func (t table[R]) keys(alias string) string {
	return alias + "." + strings.Join(t.key, ", "+alias+".")
}

// same returns the condition that two aliases have the same key.
func (t table[R]) same(a, b string) string {
	conditions := make([]string, len(t.key))
	for i, k := range t.key {
		conditions[i] = fmt.Sprintf("%s.%s = %s.%s", a, k, b, k)
	}
	return strings.Join(conditions, " AND ")
}

// dests appends the destinations of a row's columns for Scan.
func (t table[R]) dests(dests []any, row *R) []any {
	for i := range t.columns {
		dests = append(dests, t.columns[i].dest(row))
	}
	return dests
}

// shape returns the forms of the columns for rows, of which there is at least one, and the
// arguments in the same order.
func (t table[R]) shape(rows []*R) (shape string, args []any) {
	forms := make([]byte, len(t.columns))
	args = make([]any, 0, len(t.columns)+6)
	for i := range t.columns {
		f, arg := t.columns[i].form(rows)
		forms[i] = byte(f)
		if f != zeros {
			args = append(args, arg)
		}
	}
	return string(forms), args
}

// source is how a statement reads rows from its parameters.
type source struct {
	from  string            // an unnest of arrays, as r; empty for a single row
	count string            // the number of rows
	value map[string]string // each column's value, as it is stored
	array map[string]bool   // whether it comes from the arrays
}

// source returns the source for rows of a shape, and numbers its parameters.
func (t table[R]) source(p *params, shape string) source {
	s := source{count: "1", value: make(map[string]string), array: make(map[string]bool)}
	var arrays, columns []string
	for i := range t.columns {
		c := &t.columns[i]
		switch form(shape[i]) {
		case zeros:
			s.value[c.name] = c.zero()
			if c.orNull {
				s.value[c.name] = "NULL::" + c.typ
			}
		case same:
			s.value[c.name] = p.next(c.typ)
		case each:
			array := p.next(c.typ + "[]")
			arrays, columns = append(arrays, array), append(columns, c.name)
			s.array[c.name], s.count = true, "cardinality("+array+")"
			s.value[c.name] = "r." + c.name
			if c.orNull {
				s.value[c.name] = fmt.Sprintf("nullif(r.%s, %s)", c.name, c.zero())
			}
		}
	}
	if len(arrays) > 0 {
		s.from = fmt.Sprintf("unnest(%s) AS r(%s)", strings.Join(arrays, ", "), strings.Join(columns, ", "))
	}
	return s
}

// single reports whether there is a single row.
func (s *source) single() bool { return s.from == "" }

// is returns the condition that a row of the table, as t, has the key.
func (t table[R]) is(s source) string {
	conditions := make([]string, len(t.key))
	for i, k := range t.key {
		conditions[i] = "t." + k + " = " + s.value[k]
	}
	return strings.Join(conditions, " AND ")
}

// values returns the values of all columns.
func (t table[R]) values(s source) string {
	return t.join(func(c *column[R]) string { return s.value[c.name] })
}

// params numbers a statement's parameters.
type params int

func (p *params) next(typ string) string {
	*p++
	return fmt.Sprintf("$%d::%s", int(*p), typ)
}
