package pgstore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs/internal/sqlrow"
)

// column is a column of a table, and where the Go struct of a row has its value.
type column[R any] struct {
	name   string
	typ    string
	option columnOption
	at     func(row *R) any // a pointer to the value
}

// columnOption is a set of options.
type columnOption int

const (
	orNull columnOption = 1 << iota // NULL stands for Go's zero value
	arrays                          // with several rows it is an array, whose length is the number of rows
)

func newColumn[R any](name string, option columnOption, at func(*R) any) column[R] {
	return column[R]{name, typeOf(at(new(R))), option, at}
}

// typeOf returns the type of a column whose values have a type of Go.
func typeOf(pointer any) string {
	switch pointer.(type) {
	case *uuid:
		return "uuid"
	case *bool:
		return "boolean"
	case *string:
		return "text"
	case *[]byte:
		return "bytea"
	}
	return "bigint"
}

// form is how a statement gets the values of a column. Most columns of a batch have the same
// value in all rows, and need no array.
type form byte

const (
	zeros form = '0' // zero in all rows: a literal
	same  form = '1' // one value in all rows: a parameter
	each  form = 'n' // an array
)

// form returns how the values of rows are passed, and the argument.
func (c *column[R]) form(rows []*R) (form, any) {
	switch c.at(rows[0]).(type) {
	case *uuid:
		return formOf(c, rows, value[uuid], equal[uuid])
	case *bool:
		return formOf(c, rows, value[bool], equal[bool])
	case *string:
		return formOf(c, rows, value[string], equal[string])
	case *[]byte:
		return formOf(c, rows, value[[]byte], bytes.Equal)
	case *int:
		return formOf(c, rows, number[int], equal[int64])
	case *uint64:
		return formOf(c, rows, number[uint64], equal[int64])
	}
	return formOf(c, rows, value[int64], equal[int64])
}

func formOf[R, V any](c *column[R], rows []*R, value func(pointer any) V, equal func(a, b V) bool) (form, any) {
	var zero V
	first := value(c.at(rows[0]))
	always := c.option&arrays != 0
	differs := func(row *R) bool { return !equal(value(c.at(row)), first) }
	switch {
	case len(rows) > 1 && (always || slices.ContainsFunc(rows[1:], differs)):
		return each, values(rows, func(row *R) V { return value(c.at(row)) })
	case !always && equal(first, zero):
		return zeros, nil
	}
	return same, first
}

func value[V any](pointer any) V { return *pointer.(*V) }

func number[N int | uint64](pointer any) int64 { return int64(*pointer.(*N)) }

func equal[V comparable](a, b V) bool { return a == b }

func values[R, V any](rows []*R, at func(*R) V) pgtype.FlatArray[V] {
	list := make(pgtype.FlatArray[V], len(rows))
	for i, row := range rows {
		list[i] = at(row)
	}
	return list
}

// zeroes are the literals for Go's zero values.
var zeroes = map[string]string{
	"uuid": "'00000000-0000-0000-0000-000000000000'::uuid", "bigint": "0::bigint", "boolean": "false",
	"text": "''::text", "bytea": "''::bytea",
}

// table describes a table.
type table[R any] struct {
	name    string
	columns []column[R]
	key     []string // the columns that identify a row
	fixed   []string // columns that never change, the key among them
	empty   func() sqlrow.Row
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
	return t.join(func(c *column[R]) string { return fmt.Sprintf("coalesce(%s.%s, %s)", alias, c.name, zeroes[c.typ]) })
}

// keys returns the key columns of an alias.
func (t table[R]) keys(alias string) string {
	return alias + "." + strings.Join(t.key, ", "+alias+".")
}

// dests appends the destinations of a row's columns for Scan.
func (t table[R]) dests(dests []any, row *R) []any {
	for i := range t.columns {
		dests = append(dests, t.columns[i].at(row))
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
			s.value[c.name] = zeroes[c.typ]
			if c.option&orNull != 0 {
				s.value[c.name] = "NULL::" + c.typ
			}
		case same:
			s.value[c.name] = p.next(c.typ)
		case each:
			array := p.next(c.typ + "[]")
			arrays, columns = append(arrays, array), append(columns, c.name)
			s.array[c.name], s.count = true, "cardinality("+array+")"
			s.value[c.name] = "r." + c.name
			if c.option&orNull != 0 {
				s.value[c.name] = fmt.Sprintf("nullif(r.%s, %s)", c.name, zeroes[c.typ])
			}
		}
	}
	if len(arrays) > 0 {
		s.from = fmt.Sprintf("unnest(%s) AS r(%s)", strings.Join(arrays, ", "), strings.Join(columns, ", "))
	}
	return s
}

func (s *source) of(column string) string { return s.value[column] }

// single reports whether there is a single row.
func (s *source) single() bool { return s.from == "" }

// is returns the condition that a row of the table, as t, has the key.
func (t table[R]) is(value func(key string) string) string {
	conditions := make([]string, len(t.key))
	for i, k := range t.key {
		conditions[i] = "t." + k + " = " + value(k)
	}
	return strings.Join(conditions, " AND ")
}

// isOneOf returns the condition that a row, as t, is one of another alias.
func (t table[R]) isOneOf(alias string) string {
	return t.is(func(key string) string { return alias + "." + key })
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
