package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/calldibs/dibs"
)

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
	if s.writer.mu.TryLock() {
		err := s.writer.read(ctx, fn)
		s.writer.mu.Unlock()
		if !isBusy(err) {
			return err
		}
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
				records = append(records, record)
				return err
			})
		})
	}
	if begin && (len(ids) > 1 || len(refs) > maxBatch) {
		err = snapshot(ctx, run, read)
	} else {
		err = read()
	}
	return records, err
}
