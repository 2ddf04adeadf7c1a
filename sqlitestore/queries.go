package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
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

// collect returns what scan makes of the rows of a statement.
func collect[T any](ctx context.Context, q *queries, st *statement, args []any, scan func(row []driver.Value) (T, error)) ([]T, error) {
	var list []T
	err := q.read(ctx, func(run runner) error {
		return run.query(ctx, st, args, func(row []driver.Value) error {
			value, err := scan(row)
			list = append(list, value)
			return err
		})
	})
	return list, err
}

var selectDue = newStatement(`
	SELECT kind, scope, id FROM (
		SELECT * FROM (SELECT due, 'name' AS kind, namespace AS scope, id
			FROM dibs_names INDEXED BY dibs_names_held WHERE due <= ?1 AND state = 'held' ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, 'name', namespace, id
			FROM dibs_names INDEXED BY dibs_names_due WHERE due <= ?1 AND state <> 'held' ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, 'entity', scope, id
			FROM dibs_entities INDEXED BY dibs_entities_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
		UNION ALL
		SELECT * FROM (SELECT due, kind, scope, id
			FROM dibs_documents INDEXED BY dibs_documents_due WHERE due <= ?1 ORDER BY due LIMIT ?2)
	) ORDER BY due LIMIT ?2`)

// Due returns refs of records that are due, earliest first.
func (q *queries) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return collect(ctx, q, selectDue, []any{int64(q.instant()), int64(limit)}, func(row []driver.Value) (dibs.Ref, error) {
		id, err := asID(row[2])
		return sqlrow.DueRef(asText(row[0]), asText(row[1]), id), err
	})
}

var selectOwned = newStatement(`
	SELECT ` + names.columns + ` FROM dibs_names INDEXED BY dibs_names_active
		WHERE owner = ?1 AND state = 'active' AND many = 0
	UNION ALL
	SELECT ` + names.columns + ` FROM dibs_names INDEXED BY dibs_names_owned
		WHERE owner = ?1 AND (state = 'alias' OR (state = 'active' AND many = 1))
	ORDER BY namespace, canonical LIMIT ?2`)

// Owned returns an entity's active names and aliases in the order of their keys.
func (q *queries) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	id := dibs.EntityID(scope, entity)
	return collect(ctx, q, selectOwned, []any{id[:], int64(limit)}, func(row []driver.Value) (*dibs.NameRecord, error) {
		record, err := names.scan(row)
		if err != nil {
			return nil, err
		}
		name := record.(*dibs.NameRecord)
		if name.Scope != scope || name.Owner != entity {
			return nil, damaged("the index of the names of %s", entity)
		}
		return name, nil
	})
}

// Load returns the records that exist among refs, all of one moment.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return dibs.LoadResult{}, err
	}
	defer s.calls.End()
	var records []dibs.Record
	err := s.readWarm(ctx, func(ctx context.Context, run runner) (err error) {
		records, err = loadRefs(ctx, run, refs, true)
		return err
	})
	if err != nil {
		return dibs.LoadResult{}, unavailable(err)
	}
	return dibs.LoadResult{Now: s.instant(), Records: records}, nil
}

// readWarm runs a short read on the writer's connection if that is idle, else on a reader's.
// The cache of the writer's connection stays valid when it commits; every commit invalidates
// the caches of the readers.
func (s *Store) readWarm(ctx context.Context, fn func(context.Context, runner) error) error {
	select {
	case conn := <-s.writer.idle:
		err := fn(context.WithoutCancel(ctx), conn) // an interrupted connection would lose its cache
		if err != nil {
			_ = conn.close()
		}
		s.writer.put(conn)
		if !isBusy(err) {
			return err
		}
	default:
	}
	return s.readers.use(ctx, func(run runner) error { return fn(ctx, run) })
}

// loadRefs reads records of one moment. If begin is set, it begins the transaction that several
// statements need for that.
func loadRefs(ctx context.Context, run runner, refs []dibs.Ref, begin bool) (records []dibs.Record, err error) {
	var ids idsByKind
	for i := range refs {
		ids.add(refs[i].Kind, refs[i].ID)
	}
	read := func() error {
		return ids.each(func(t *table) *batch { return t.load }, func(kind dibs.Kind, st *statement, args []any) error {
			table := tableOf(kind)
			return run.query(ctx, st, args, func(row []driver.Value) error {
				record, err := table.scan(row)
				if err == nil && !isAmong(record.Ref().ID, args) {
					err = damaged("an index of %s", table.Name)
				}
				records = append(records, record)
				return err
			})
		})
	}
	if begin && (len(ids) > 1 || len(refs) > maxBatch) {
		err = inTransaction(ctx, run, read)
	} else {
		err = read()
	}
	return records, err
}

// isAmong reports whether a record was asked for: a damaged index leads to others.
func isAmong(id dibs.ID, args []any) bool {
	return slices.ContainsFunc(args, func(arg any) bool {
		asked, ok := arg.([]byte)
		return ok && id == dibs.ID(asked)
	})
}
