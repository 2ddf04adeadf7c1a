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
		return []call{{text: q.sql.due, args: []any{limit}, scan: func(row scanner) error {
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
		return []call{{text: q.sql.owned, args: args, scan: func(row scanner) error {
			record, err := scanName(row)
			list = append(list, record)
			return err
		}}}
	})
	return list, err
}

// List returns records of one kind in byte order of their labels.
func (q *queries) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	clauses, args := sqlrow.ListClauses(query, "$")
	text := q.sql.list.documents
	scan := func(row scanner) error {
		var r documentRow
		err := row.Scan(documents.dests(nil, &r)...)
		records = append(records, r.record())
		return err
	}
	if query.Kind == dibs.KindName {
		text = q.sql.list.names
		scan = func(row scanner) error {
			record, err := scanName(row)
			records = append(records, record)
			return err
		}
	}
	err = q.read(ctx, func() []call {
		records = nil
		return []call{{text: text + clauses, args: args, scan: scan}}
	})
	return records, err
}

// Count counts names by namespace and state, and the held ones that are due soon.
func (q *queries) Count(ctx context.Context, soon dibs.Instant) (stats dibs.Stats, err error) {
	err = q.read(ctx, func() []call {
		stats = dibs.Stats{}
		return []call{
			{text: q.sql.count, scan: func(row scanner) error {
				var c dibs.NameCount
				err := row.Scan(&c.Namespace, (*string)(&c.State), &c.Count)
				stats.Names = append(stats.Names, c)
				return err
			}},
			{text: q.sql.countEnding, args: []any{int64(soon)}, scan: scanInto(&stats.EndingSoon)},
		}
	})
	return stats, err
}

func scanName(row scanner) (*dibs.NameRecord, error) {
	var r nameRow
	if err := row.Scan(names.dests(nil, &r)...); err != nil {
		return nil, err
	}
	return r.record()
}
