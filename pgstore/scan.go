package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
)

// Due returns refs of records that are due, earliest first.
func (s *Store) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	err = s.read(ctx, func() []call {
		refs = nil
		return []call{dueCall(s.sql, limit, &refs)}
	})
	return refs, err
}

func dueCall(sql *statements, limit int, refs *[]dibs.Ref) call {
	return call{text: sql.due, args: []any{limit}, scan: func(row scanner) error {
		var (
			kind, scope string
			id          uuid
		)
		if err := row.Scan(&kind, &scope, &id); err != nil {
			return err
		}
		ref := dibs.Ref{Kind: dibs.Kind(kind), Scope: scope, ID: dibs.ID(id)}
		if ref.Kind == dibs.KindName {
			ref.Scope = dibs.ScopeOf(scope) // it is the namespace
		}
		*refs = append(*refs, ref)
		return nil
	}}
}

// Owned returns an entity's active names and aliases in the order of their keys.
func (s *Store) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	err = s.read(ctx, func() []call {
		list = nil
		return []call{ownedCall(s.sql, scope, entity, limit, &list)}
	})
	return list, err
}

func ownedCall(sql *statements, scope string, entity dibs.Entity, limit int, list *[]*dibs.NameRecord) call {
	args := []any{uuid(dibs.EntityID(scope, entity)), limit}
	return call{text: sql.owned, args: args, scan: scanNames(func(n *dibs.NameRecord) { *list = append(*list, n) })}
}

// scanNames reads rows of names.
func scanNames(found func(*dibs.NameRecord)) func(scanner) error {
	return func(row scanner) error {
		var r nameRow
		if err := row.Scan(names.dests(nil, &r)...); err != nil {
			return err
		}
		record, err := r.record()
		if err != nil {
			return err
		}
		found(record)
		return nil
	}
}

// List returns records of one kind in byte order of their labels.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	err = s.read(ctx, func() []call {
		records = nil
		return []call{listCall(s.sql, query, &records)}
	})
	return records, err
}

func listCall(sql *statements, query dibs.ListQuery, records *[]dibs.Record) call {
	if query.Kind == dibs.KindName {
		return listNames(sql, query, scanNames(func(n *dibs.NameRecord) { *records = append(*records, n) }))
	}
	return listDocuments(sql, query, func(row scanner) error {
		var r documentRow
		if err := row.Scan(documents.dests(nil, &r)...); err != nil {
			return err
		}
		*records = append(*records, r.record())
		return nil
	})
}

// where gathers the conditions of a query.
type where struct {
	conditions []string
	args       []any
}

// and adds a condition, in which %s stands for the arguments.
func (w *where) and(format string, args ...any) {
	places := make([]any, len(args))
	for i := range args {
		places[i] = fmt.Sprintf("$%d", len(w.args)+i+1)
	}
	w.conditions = append(w.conditions, fmt.Sprintf(format, places...))
	w.args = append(w.args, args...)
}

// bounds adds the query's From and To for a column.
func (w *where) bounds(column string, query dibs.ListQuery) {
	if query.From != "" {
		w.and(column+" >= %s", query.From)
	}
	if query.To != "" {
		w.and(column+" < %s", query.To)
	}
}

// behind adds where the query resumes, and its To. There is one lower bound only,
// the higher one, so that no page begins at the beginning again.
func (w *where) behind(column string, query dibs.ListQuery) {
	if query.After.Label >= query.From {
		w.and(column+" > %s", query.After.Label)
		query.From = ""
	}
	w.bounds(column, query)
}

func (w *where) text() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

func listNames(sql *statements, query dibs.ListQuery, scan func(scanner) error) call {
	var w where
	if query.Namespace != "" {
		w.and("n.namespace = %s", query.Namespace)
	}
	switch after := query.After; {
	case after == nil:
		w.bounds("n.canonical", query)
	case query.Namespace == "":
		w.bounds("n.canonical", query)
		w.and("(n.namespace, n.canonical) > (%s, %s)", after.Namespace, after.Label)
	case after.Namespace < query.Namespace: // everything is behind it
		w.bounds("n.canonical", query)
	case after.Namespace > query.Namespace: // nothing is
		w.and("false")
	default:
		w.behind("n.canonical", query)
	}
	if len(query.States) > 0 {
		var states pgtype.FlatArray[string]
		for _, state := range slices.Compact(slices.Sorted(slices.Values(query.States))) {
			states = append(states, string(state))
		}
		w.and("n.state = ANY (%s::text[])", states)
	}
	text := "SELECT " + names.reading("n") + " FROM " + sql.table("dibs_names") + " n" + w.text() +
		fmt.Sprintf(" ORDER BY n.namespace, n.canonical LIMIT $%d", len(w.args)+1)
	return call{text: text, args: append(w.args, query.Limit), scan: scan}
}

func listDocuments(sql *statements, query dibs.ListQuery, scan func(scanner) error) call {
	var w where
	w.and("d.kind = %s", string(query.Kind))
	if query.After == nil {
		w.bounds("d.label", query)
	} else {
		w.behind("d.label", query)
	}
	text := "SELECT " + documents.reading("d") + " FROM " + sql.table("dibs_documents") + " d" + w.text() +
		fmt.Sprintf(" ORDER BY d.label LIMIT $%d", len(w.args)+1)
	return call{text: text, args: append(w.args, query.Limit), scan: scan}
}
