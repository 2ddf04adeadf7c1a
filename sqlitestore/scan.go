package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

var selectDue = newStatement(`
	SELECT kind, scope, namespace, id FROM (
		SELECT * FROM (SELECT due, 'name' AS kind, NULL AS scope, namespace, id
			FROM dibs_names INDEXED BY dibs_names_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, 'entity', scope, NULL, id
			FROM dibs_entities INDEXED BY dibs_entities_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, kind, scope, NULL, id
			FROM dibs_documents INDEXED BY dibs_documents_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
	) ORDER BY due LIMIT ?2`)

// Due returns refs of records that are due, earliest first.
func (s *Store) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	err = s.read(ctx, func(run runner) error {
		refs, err = due(ctx, run, s.instant(), limit)
		return err
	})
	return refs, err
}

func due(ctx context.Context, run runner, now dibs.Instant, limit int) (refs []dibs.Ref, err error) {
	err = run.query(ctx, selectDue, []any{int64(now), int64(limit)}, func(row []driver.Value) error {
		ref := dibs.Ref{Kind: dibs.Kind(asText(row[0])), Scope: asText(row[1]), ID: dibs.ID(asBytes(row[3]))}
		if ref.Kind == dibs.KindName {
			ref.Scope = dibs.ScopeOf(asText(row[2]))
		}
		refs = append(refs, ref)
		return nil
	})
	return refs, err
}

var selectOwned = newStatement(`
	SELECT ` + names.columns + ` FROM dibs_names INDEXED BY dibs_names_active
		WHERE owner = ?1 AND state = 'active' AND many = 0
	UNION ALL
	SELECT ` + names.columns + ` FROM dibs_names INDEXED BY dibs_names_owned
		WHERE owner = ?1 AND (state = 'alias' OR (state = 'active' AND many = 1))
	ORDER BY namespace, canonical LIMIT ?2`)

// Owned returns an entity's active names and aliases in the order of their keys.
func (s *Store) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	err = s.read(ctx, func(run runner) error {
		list, err = owned(ctx, run, scope, entity, limit)
		return err
	})
	return list, err
}

func owned(ctx context.Context, run runner, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	id := dibs.EntityID(scope, entity)
	err = run.query(ctx, selectOwned, []any{id[:], int64(limit)}, func(row []driver.Value) error {
		record, err := scanName(row)
		if err != nil {
			return err
		}
		list = append(list, record.(*dibs.NameRecord))
		return nil
	})
	return list, err
}

// List returns records of one kind in byte order of their labels.
func (s *Store) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	err = s.read(ctx, func(run runner) error {
		records, err = list(ctx, run, query)
		return err
	})
	return records, err
}

func list(ctx context.Context, run runner, query dibs.ListQuery) (records []dibs.Record, err error) {
	text, args, on := listNames(query)
	if query.Kind != dibs.KindName {
		text, args, on = listDocuments(query)
	}
	err = run.query(ctx, interned(text), args, func(row []driver.Value) error {
		record, err := on.scan(row)
		records = append(records, record)
		return err
	})
	return records, err
}

// where gathers the conditions of a query.
type where struct {
	conditions []string
	args       []any
}

func (w *where) and(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

// bounds adds the query's From and To for a column.
func (w *where) bounds(column string, query dibs.ListQuery) {
	if query.From != "" {
		w.and(column+" >= ?", query.From)
	}
	if query.To != "" {
		w.and(column+" < ?", query.To)
	}
}

// behind adds where the query resumes, and its To. There is one lower bound only,
// the higher one: with two SQLite may start at the lower, and read all again that
// was on the pages before.
func (w *where) behind(column string, query dibs.ListQuery) {
	if query.After.Label >= query.From {
		w.and(column+" > ?", query.After.Label)
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

func listNames(query dibs.ListQuery) (string, []any, *shelf) {
	var w where
	if query.Namespace != "" {
		w.and("namespace = ?", query.Namespace)
	}
	switch after := query.After; {
	case after == nil:
		w.bounds("canonical", query)
	case query.Namespace == "":
		w.bounds("canonical", query)
		w.and("(namespace, canonical) > (?, ?)", after.Namespace, after.Label)
	case after.Namespace < query.Namespace: // everything is behind it
		w.bounds("canonical", query)
	case after.Namespace > query.Namespace: // nothing is
		w.and("false")
	default:
		w.behind("canonical", query)
	}
	if len(query.States) > 0 {
		var states []any
		for _, state := range slices.Compact(slices.Sorted(slices.Values(query.States))) {
			states = append(states, string(state))
		}
		w.and("state IN ("+places(len(states))+")", states...)
	}
	return "SELECT " + names.columns + " FROM dibs_names INDEXED BY dibs_names_key" + w.text() +
		" ORDER BY namespace, canonical LIMIT ?", append(w.args, int64(query.Limit)), nameShelf
}

func listDocuments(query dibs.ListQuery) (string, []any, *shelf) {
	var w where
	w.and("kind = ?", string(query.Kind))
	if query.After == nil {
		w.bounds("label", query)
	} else {
		w.behind("label", query)
	}
	return "SELECT " + documents.columns + " FROM dibs_documents INDEXED BY dibs_documents_label" + w.text() +
		" ORDER BY label LIMIT ?", append(w.args, int64(query.Limit)), documentShelf
}
