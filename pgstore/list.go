package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// List returns records of one kind in byte order of their labels.
func (q *queries) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if query.DueBefore != 0 {
		args := []any{int64(query.DueBefore), query.Namespace, query.Limit}
		return collect(ctx, q, q.sql.named("list ending"), args, func(row scanner) (dibs.Record, error) { return scanRecord(names, row) })
	}
	if query.Kind == dibs.KindName {
		text, args := listNames(q.sql, query)
		return collect(ctx, q, text, args, func(row scanner) (dibs.Record, error) { return scanRecord(names, row) })
	}
	clauses, args := sqlrow.ListClauses(query, "$")
	return collect(ctx, q, q.sql.named("list documents")+clauses, args, func(row scanner) (dibs.Record, error) {
		return scanRecord(documents, row)
	})
}

// allStates are the states of names, which a query without states lists.
var allStates = []dibs.State{dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined, dibs.Free}

// listNames returns the statement of a page of names. It merges pages of one state each, since the
// index has the names of each state in order.
func listNames(sql *statements, query dibs.ListQuery) (text string, args []any) {
	l := listing{sql: sql}
	l.limit = l.param(query.Limit, "bigint")
	for _, state := range allStates {
		if len(query.States) == 0 || slices.Contains(query.States, state) {
			l.state("state = '"+string(state)+"'", query) // a literal: the statistics of states are known
		}
	}
	if len(l.pages) == 0 {
		l.pages = []string{"SELECT * FROM " + sql.table(names.name) + " WHERE false"}
	}
	return fmt.Sprintf("SELECT %s FROM (%s) n ORDER BY n.namespace, n.canonical LIMIT %s",
		names.reading("n"), strings.Join(l.pages, " UNION ALL "), l.limit), l.args
}

// listing is a statement under construction.
type listing struct {
	sql   *statements
	pages []string
	args  []any
	limit string
}

func (l *listing) param(arg any, typ string) string {
	l.args = append(l.args, arg)
	return fmt.Sprintf("$%d::%s", len(l.args), typ)
}

// state adds the page of the names in a state.
func (l *listing) state(state string, query dibs.ListQuery) {
	if query.Namespace != "" || query.From == "" && query.To == "" {
		l.from(state, query)
		return
	}
	// Without a namespace the bounds select a part of each: the page skips from one to the next.
	first := "true"
	if after := query.After; after != nil {
		inside := query
		inside.Namespace = after.Namespace
		l.from(state, inside)
		first = "namespace > " + l.param(after.Namespace, "text")
	}
	l.pages = append(l.pages, strings.NewReplacer("{state}", state, "{first}", first, "{bounds}", l.bounds(query), "{limit}", l.limit).
		Replace("("+l.sql.named("list namespaces")+")"))
}

// from adds the page of rows that fulfil a condition.
func (l *listing) from(condition string, query dibs.ListQuery) {
	after := query.After
	switch {
	case query.Namespace == "":
		condition += l.bounds(query)
		if after != nil {
			condition += fmt.Sprintf(" AND (namespace, canonical) > (%s, %s)", l.param(after.Namespace, "text"), l.param(after.Label, "text"))
		}
	case after != nil && after.Namespace > query.Namespace:
		return // nothing follows
	default:
		condition += " AND namespace = " + l.param(query.Namespace, "text")
		// Only the higher one of the two lower bounds: the database may start at the lower one.
		if after != nil && after.Namespace == query.Namespace && after.Label >= query.From {
			condition += " AND canonical > " + l.param(after.Label, "text")
			query.From = ""
		}
		condition += l.bounds(query)
	}
	l.pages = append(l.pages, fmt.Sprintf("(SELECT * FROM %s WHERE %s ORDER BY namespace, canonical LIMIT %s)",
		l.sql.table(names.name), condition, l.limit))
}

// bounds returns From and To of a query.
func (l *listing) bounds(query dibs.ListQuery) (conditions string) {
	if query.From != "" {
		conditions += " AND canonical >= " + l.param(query.From, "text")
	}
	if query.To != "" {
		conditions += " AND canonical < " + l.param(query.To, "text")
	}
	return conditions
}
