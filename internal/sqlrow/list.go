// Package sqlrow is what the engines on SQL databases share: the columns of records, and the SQL
// of a listing.
package sqlrow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
)

// ListClauses returns everything of a listing's statement that follows its table: WHERE,
// ORDER BY and LIMIT, with their arguments. The columns are those of dibs_names and
// dibs_documents. Parameters begin with mark: "$" gives $1, "?" gives ?1.
func ListClauses(query dibs.ListQuery, mark string) (text string, args []any) {
	text, args = ListWhere(query, mark)
	order := "label"
	if query.Kind == dibs.KindName {
		order = "namespace, canonical"
	}
	w := where{mark: mark, args: args}
	return text + " ORDER BY " + order + " LIMIT " + w.param(int64(query.Limit)), w.args
}

// ListWhere returns the WHERE clause of a listing, after further conditions without parameters.
func ListWhere(query dibs.ListQuery, mark string, further ...string) (text string, args []any) {
	w := where{mark: mark, conditions: further}
	if query.Kind == dibs.KindName {
		w.names(query)
	} else {
		w.equal("kind", string(query.Kind))
		w.resume("label", query)
	}
	if len(w.conditions) > 0 {
		text = " WHERE " + strings.Join(w.conditions, " AND ")
	}
	return text, w.args
}

// where collects the conditions of a query.
type where struct {
	mark       string
	conditions []string
	args       []any
}

// param adds an argument and returns its parameter.
func (w *where) param(arg any) string {
	w.args = append(w.args, arg)
	return w.mark + strconv.Itoa(len(w.args))
}

func (w *where) and(condition string) { w.conditions = append(w.conditions, condition) }

func (w *where) equal(column, value string) { w.and(column + " = " + w.param(value)) }

func (w *where) names(query dibs.ListQuery) {
	if query.Namespace != "" {
		w.equal("namespace", query.Namespace)
	}
	switch after := query.After; {
	case query.Namespace == "" && after != nil:
		w.bounds("canonical", query)
		w.and("(namespace, canonical) > (" + w.param(after.Namespace) + ", " + w.param(after.Label) + ")")
	case after == nil, after.Namespace < query.Namespace: // the whole namespace follows
		w.bounds("canonical", query)
	case after.Namespace > query.Namespace: // nothing follows
		w.and("false")
	default:
		w.resume("canonical", query)
	}
	if len(query.States) > 0 {
		var states []string
		for _, state := range slices.Compact(slices.Sorted(slices.Values(query.States))) {
			states = append(states, w.param(string(state)))
		}
		w.and("state IN (" + strings.Join(states, ", ") + ")")
	}
}

// bounds adds From and To of the query for a column.
func (w *where) bounds(column string, query dibs.ListQuery) {
	if query.From != "" {
		w.and(column + " >= " + w.param(query.From))
	}
	if query.To != "" {
		w.and(column + " < " + w.param(query.To))
	}
}

// resume adds After, From and To of the query for a column. It adds only the higher one of
// the two lower bounds: with both, a database may start at the lower one and read the
// earlier pages again.
func (w *where) resume(column string, query dibs.ListQuery) {
	if query.After != nil && query.After.Label >= query.From {
		w.and(column + " > " + w.param(query.After.Label))
		query.From = ""
	}
	w.bounds(column, query)
}
