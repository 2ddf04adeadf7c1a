package pgstore

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// queries are the reads that a store and a caller's transaction have in common.
type queries struct {
	sql *statements
	// read runs calls that change nothing. It may make and run them several times.
	read func(ctx context.Context, calls func() []call) error
}

// Due returns refs of records that are due, earliest first.
func (q *queries) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	err = q.read(ctx, func() []call {
		refs = nil
		return []call{{text: q.sql.named("due"), args: []any{limit}, scan: func(row scanner) error {
			var (
				kind, scope string
				id          uuid
			)
			err := row.Scan(&kind, &scope, &id)
			refs = append(refs, sqlrow.DueRef(kind, scope, dibs.ID(id)))
			return err
		}}}
	})
	return refs, err
}

// Owned returns an entity's active names and aliases in the order of their keys.
func (q *queries) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	args := []any{uuid(dibs.EntityID(scope, entity)), limit}
	err = q.read(ctx, func() []call {
		list = nil
		return []call{{text: q.sql.named("owned"), args: args, scan: func(row scanner) error {
			record, err := scanRecord(names, row)
			if err == nil {
				list = append(list, record.(*dibs.NameRecord))
			}
			return err
		}}}
	})
	return list, err
}

// List returns records of one kind in byte order of their labels.
func (q *queries) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	clauses, args := sqlrow.ListClauses(query, "$")
	text, table := q.sql.named("list documents"), documents
	if query.Kind == dibs.KindName {
		text, table = q.sql.named("list names"), names
	}
	err = q.read(ctx, func() []call {
		records = nil
		return []call{{text: text + clauses, args: args, scan: func(row scanner) error {
			record, err := scanRecord(table, row)
			records = append(records, record)
			return err
		}}}
	})
	return records, err
}
