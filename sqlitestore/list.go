package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// List returns records of one kind in byte order of their labels.
func (q *queries) List(ctx context.Context, query dibs.ListQuery) (list []dibs.Record, err error) {
	if query.DueBefore != 0 {
		args := []any{int64(query.DueBefore), query.Namespace, int64(query.Limit)}
		return collect(ctx, q, selectEnding, args, func(row []driver.Value) (dibs.Record, error) {
			r, err := names.scan(row)
			if n, ok := r.(*dibs.NameRecord); err == nil && ok && (n.State != dibs.Held || n.Due >= query.DueBefore || !record.IsSelected(query, n)) {
				err = damaged("the index of held names")
			}
			return r, err
		})
	}
	last := query.After
	err = q.read(ctx, func(run runner) error {
		fewHeld, err := heldAreFew(ctx, run, query)
		if err != nil {
			return err
		}
		for _, part := range inParts(query) {
			if part.Limit = query.Limit - len(list); part.Limit == 0 {
				break
			}
			text, args := part.sql(fewHeld)
			err := run.query(ctx, cachedStatement(text), args, func(row []driver.Value) error {
				r, err := tableOf(query.Kind).scan(row)
				if err == nil {
					at := record.Position(r)
					if !record.IsSelected(query, r) || last != nil && record.ComparePositions(at, *last) <= 0 {
						err = damaged("the order of %ss", query.Kind)
					}
					last = &at
				}
				list = append(list, r)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// The state is no parameter: SQLite must see that the partial index has it.
var selectEnding = newStatement(`SELECT ` + names.columns + ` FROM dibs_names INDEXED BY dibs_names_held
	WHERE due < ?1 AND state = 'held' AND ?2 IN ('', namespace) ORDER BY due LIMIT ?3`)

// listing is a query that one statement answers.
type listing struct {
	dibs.ListQuery
	// bySpace is set for a span of the canonical forms in every namespace after afterSpace. By
	// the key these are many spans, one in each namespace.
	bySpace    bool
	afterSpace string
}

// inParts returns the listings of a query, in order. If a page begins within a namespace and
// goes on in others, the rest of that namespace is a listing of its own.
func inParts(query dibs.ListQuery) []listing {
	whole := listing{ListQuery: query}
	if query.Kind != dibs.KindName || query.Namespace != "" || (query.From == "" && query.To == "") {
		return []listing{whole}
	}
	following := whole
	following.bySpace, following.After = true, nil
	if query.After == nil {
		return []listing{following}
	}
	following.afterSpace, whole.Namespace = query.After.Namespace, query.After.Namespace
	return []listing{whole, following}
}

// spacesAfter goes from namespace to namespace and passes over the names between.
const spacesAfter = `namespace IN (WITH RECURSIVE spaces(space) AS (
		SELECT min(namespace) FROM dibs_names WHERE namespace > $space
		UNION ALL
		SELECT (SELECT min(namespace) FROM dibs_names WHERE namespace > space) FROM spaces WHERE space IS NOT NULL
	) SELECT space FROM spaces WHERE space IS NOT NULL)`

// sql returns the statement of a listing. If it asks only for states that have an index of their
// own, the statement merges the states; else it follows the index on the key, or on the label.
func (l listing) sql(fewHeld bool) (text string, args []any) {
	if l.Kind != dibs.KindName {
		clauses, args := sqlrow.ListClauses(l.ListQuery, "?")
		return "SELECT " + documents.columns + " FROM dibs_documents INDEXED BY dibs_documents_label" + clauses, args
	}
	var selects []string
	add := func(index string, conditions ...string) {
		if l.bySpace && index != "dibs_names_held" {
			conditions = append(conditions, spacesAfter)
		}
		text, args = sqlrow.ListWhere(l.ListQuery, "?", conditions...)
		text = " FROM dibs_names INDEXED BY " + index + text
		if index == "dibs_names_held" {
			// All held names are sorted, but only those of the page are read.
			text = " FROM dibs_names WHERE n IN (SELECT n" + text + " ORDER BY namespace, canonical LIMIT $limit)"
		}
		selects = append(selects, "SELECT "+names.columns+text)
	}
	states := slices.Compact(slices.Sorted(slices.Values(l.States)))
	if !haveIndexes(states, fewHeld) {
		add("dibs_names_key")
	} else {
		l.States = nil
		for _, state := range states {
			// The state is no parameter: SQLite must see that the partial index has it.
			add(stateIndexes[state], "state = '"+string(state)+"'")
		}
	}
	args = append(args, l.afterSpace, int64(l.Limit))
	text = strings.Join(selects, " UNION ALL ") + " ORDER BY namespace, canonical LIMIT $limit"
	numbers := strings.NewReplacer("$space", "?"+strconv.Itoa(len(args)-1), "$limit", "?"+strconv.Itoa(len(args)))
	return numbers.Replace(text), args
}

// stateIndexes has the states whose names are in an index of their own. The index of held names has
// their keys, but is in the order of their ends: they are sorted.
var stateIndexes = map[dibs.State]string{
	dibs.Held: "dibs_names_held", dibs.Suspect: "dibs_names_rare", dibs.Alias: "dibs_names_rare",
	dibs.Quarantined: "dibs_names_rare", dibs.Free: "dibs_names_rare",
}

func haveIndexes(states []dibs.State, fewHeld bool) bool {
	for _, state := range states {
		if stateIndexes[state] == "" || (state == dibs.Held && !fewHeld) {
			return false
		}
	}
	return len(states) > 0
}

// In all, those in the namespace, and the held ones among these.
var selectHeld = newStatement(`SELECT coalesce(sum(names) FILTER (WHERE state = 'held'), 0),
	coalesce(sum(names) FILTER (WHERE ?1 IN ('', namespace)), 0),
	coalesce(sum(names) FILTER (WHERE state = 'held' AND ?1 IN ('', namespace)), 0) FROM dibs_counts`)

// walkCost is how much longer it takes to read a name than to sort a held one, whose key is in the
// index: 10 µs and 0.7 µs, at a million names.
const walkCost = 15

// heldAreFew estimates whether all held names are sorted sooner than a page of them is found
// among the other names of its namespace. With the better of both, the time for a page grows at
// most as the square root of the number of names.
func heldAreFew(ctx context.Context, run runner, query dibs.ListQuery) (few bool, err error) {
	if query.Kind != dibs.KindName || !slices.Contains(query.States, dibs.Held) {
		return false, nil
	}
	err = run.query(ctx, selectHeld, []any{query.Namespace}, func(row []driver.Value) error {
		held, among, wanted := asInt(row[0]), asInt(row[1]), asInt(row[2])
		few = held <= walkCost*among*int64(query.Limit)/max(wanted, int64(query.Limit))
		return nil
	})
	return few, err
}
