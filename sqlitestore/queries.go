package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// queries are the reads that a store and a caller's transaction have in common.
type queries struct {
	now  func() time.Time
	read func(ctx context.Context, fn func(runner) error) error
}

func (q *queries) instant() dibs.Instant { return dibs.InstantOf(q.now()) }

var selectDue = newStatement(`
	SELECT kind, scope, id FROM (
		SELECT * FROM (SELECT due, 'name' AS kind, namespace AS scope, id
			FROM dibs_names INDEXED BY dibs_names_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, 'entity', scope, id
			FROM dibs_entities INDEXED BY dibs_entities_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, kind, scope, id
			FROM dibs_documents INDEXED BY dibs_documents_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
	) ORDER BY due LIMIT ?2`)

// Due returns refs of records that are due, earliest first.
func (q *queries) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	err = q.read(ctx, func(run runner) error {
		return run.query(ctx, selectDue, []any{int64(q.instant()), int64(limit)}, func(row []driver.Value) error {
			refs = append(refs, sqlrow.DueRef(asText(row[0]), asText(row[1]), dibs.ID(asBytes(row[2]))))
			return nil
		})
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
func (q *queries) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	id := dibs.EntityID(scope, entity)
	err = q.read(ctx, func(run runner) error {
		return run.query(ctx, selectOwned, []any{id[:], int64(limit)}, func(row []driver.Value) error {
			record, err := names.scan(row)
			list = append(list, record.(*dibs.NameRecord))
			return err
		})
	})
	return list, err
}

// List returns records of one kind in byte order of their labels.
func (q *queries) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	text, args := listSQL(query)
	table := tableOf(query.Kind)
	err = q.read(ctx, func(run runner) error {
		return run.query(ctx, cachedStatement(text), args, func(row []driver.Value) error {
			record, err := table.scan(row)
			records = append(records, record)
			return err
		})
	})
	return records, err
}

func listSQL(query dibs.ListQuery) (text string, args []any) {
	clauses, args := sqlrow.ListClauses(query, "?")
	if query.Kind == dibs.KindName {
		return "SELECT " + names.columns + " FROM dibs_names INDEXED BY dibs_names_key" + clauses, args
	}
	return "SELECT " + documents.columns + " FROM dibs_documents INDEXED BY dibs_documents_label" + clauses, args
}

// Events returns events behind a cursor, in the order of their commits. The cursor is the
// number of the event. One writer at a time gives them out, so a reader never sees a number
// before all smaller ones.
func (q *queries) Events(ctx context.Context, query dibs.EventQuery) (found []dibs.Event, err error) {
	err = q.read(ctx, func(run runner) error {
		found, err = readEvents(ctx, run, query)
		return err
	})
	return found, err
}
