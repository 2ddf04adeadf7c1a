package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/calldibs/dibs"
)

// shelf is where records of a kind are, and how they are read from there.
type shelf struct {
	scan             func(row []driver.Value) (dibs.Record, error)
	load, revs, drop *batch
	kind             bool // whether the kind is a parameter of the statements
}

func newShelf(t table, scan func([]driver.Value) (dibs.Record, error), further, where string, kind bool) *shelf {
	return &shelf{
		scan: scan, kind: kind,
		load: in("SELECT " + t.columns + " FROM " + t.name + where),
		revs: in("SELECT id, rev, " + further + " FROM " + t.name + where),
		drop: in("DELETE FROM " + t.name + where),
	}
}

var (
	nameShelf     = newShelf(names, scanName, "n, last_event", " WHERE id", false)
	entityShelf   = newShelf(entities, scanEntity, "0, 0", " WHERE id", false)
	documentShelf = newShelf(documents, scanDocument, "0, 0", " WHERE kind = ? AND id", true)
)

func shelfOf(kind dibs.Kind) *shelf {
	switch kind {
	case dibs.KindName:
		return nameShelf
	case dibs.KindEntity:
		return entityShelf
	default:
		return documentShelf
	}
}

// wanted is a list of records of one kind.
type wanted struct {
	kind dibs.Kind
	ids  []dibs.ID
}

// sorted is a list of records by kind. There are few kinds.
type sorted []wanted

func (s *sorted) add(kind dibs.Kind, id dibs.ID) {
	for i := range *s {
		if (*s)[i].kind == kind {
			(*s)[i].ids = append((*s)[i].ids, id)
			return
		}
	}
	*s = append(*s, wanted{kind, []dibs.ID{id}})
}

// each hands the records over in portions of which each fits into one
// statement, with the arguments for it.
func (s sorted) each(pick func(*shelf) *batch, fn func(kind dibs.Kind, on *shelf, st *statement, args []any) error) error {
	for _, w := range s {
		on := shelfOf(w.kind)
		for ids := w.ids; len(ids) > 0; {
			part := ids[:min(len(ids), maxBatch)]
			ids = ids[len(part):]
			st, size := pick(on).fitting(len(part))
			args := make([]any, 0, size+1)
			if on.kind {
				args = append(args, string(w.kind))
			}
			if err := fn(w.kind, on, st, appendIDs(args, part, size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendIDs appends ids, and repeats the last one up to size.
func appendIDs(args []any, ids []dibs.ID, size int) []any {
	for i := range ids {
		args = append(args, ids[i][:])
	}
	last := args[len(args)-1]
	for range size - len(ids) {
		args = append(args, last)
	}
	return args
}

// Load returns the records that exist among refs, all of one moment.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return dibs.Snapshots{}, err
	}
	defer s.calls.End()
	var records []dibs.Record
	err := s.useWarm(ctx, func(ctx context.Context, run runner) (err error) {
		records, err = loadRefs(ctx, run, refs, true)
		return err
	})
	if err != nil {
		return dibs.Snapshots{}, unavailable(err)
	}
	return dibs.Snapshots{Now: s.instant(), Records: records}, nil
}

// useWarm runs a short read on the writer's connection if it is idle, else on a
// reader's. What the writer's connection has cached stays right when it commits;
// a reader's cache is lost with every commit.
func (s *Store) useWarm(ctx context.Context, fn func(context.Context, runner) error) error {
	if !s.writer.mu.TryLock() {
		return s.readers.use(ctx, func(run runner) error { return fn(ctx, run) })
	}
	err := s.writer.read(ctx, fn)
	s.writer.mu.Unlock()
	if isBusy(err) { // a reader's connection waits as long as it may
		return s.readers.use(ctx, func(run runner) error { return fn(ctx, run) })
	}
	return err
}

// loadRefs reads the records. One statement sees one moment; several need a
// transaction, which begin says to open.
func loadRefs(ctx context.Context, run runner, refs []dibs.Ref, begin bool) ([]dibs.Record, error) {
	var list sorted
	for i := range refs {
		list.add(refs[i].Kind, refs[i].ID)
	}
	var records []dibs.Record
	read := func() error {
		return list.each((*shelf).loading, func(_ dibs.Kind, on *shelf, st *statement, args []any) error {
			return run.query(ctx, st, args, func(row []driver.Value) error {
				record, err := on.scan(row)
				records = append(records, record)
				return err
			})
		})
	}
	var err error
	if begin && (len(list) > 1 || len(refs) > maxBatch) {
		err = snapshot(ctx, run, read)
	} else {
		err = read()
	}
	return records, err
}

func (s *shelf) loading() *batch  { return s.load }
func (s *shelf) checking() *batch { return s.revs }
func (s *shelf) dropping() *batch { return s.drop }
