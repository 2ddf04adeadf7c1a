package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// maxRows is the greatest number of rows for one statement. Distributed databases with the
// protocol of PostgreSQL are slow with more, or refuse them.
const maxRows = 500

// Load returns the records that exist among refs, all of one moment.
func (s *Store) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	var l loading
	err := s.read(ctx, func() []call {
		l = loading{}
		calls := l.calls(s.sql, refs)
		if len(calls) > 1 {
			// Several statements see one moment only in such a transaction.
			calls = slices.Concat([]call{{text: beginSnapshot}}, calls, []call{{text: "COMMIT"}})
		}
		return calls
	})
	if err != nil {
		return dibs.LoadResult{}, err
	}
	s.clock.learn(l.now)
	s.stamps.see(l.stamp)
	return l.result(), nil
}

// hasChanged reports whether a record has another revision than when it was read.
func (s *Store) hasChanged(ctx context.Context, reads []dibs.Read) (bool, error) {
	refs := make([]dibs.Ref, len(reads))
	for i := range reads {
		refs[i] = reads[i].Ref
	}
	var l loading
	if err := s.retryRead(ctx, func() []call {
		l = loading{}
		return l.calls(s.sql, refs)
	}); err != nil {
		return false, err
	}
	type key struct {
		kind dibs.Kind
		id   dibs.ID
	}
	revs := make(map[key]uint64, len(l.records))
	for _, r := range l.records {
		revs[key{r.Ref().Kind, r.Ref().ID}] = r.Revision()
	}
	return slices.ContainsFunc(reads, func(r dibs.Read) bool { return revs[key{r.Ref.Kind, r.Ref.ID}] != r.Rev }), nil
}

const beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// loading collects the records of a Load.
type loading struct {
	now     int64
	records []dibs.Record
	stamp   int64 // the highest

	name     sqlrow.Name
	entity   sqlrow.Entity
	document sqlrow.Document
	rows     [3]row // around them
	dests    []any
}

func (l *loading) result() dibs.LoadResult {
	return dibs.LoadResult{Now: dibs.Instant(l.now), Records: l.records}
}

// calls returns the statements that load refs: one for every maxRows.
func (l *loading) calls(sql *statements, refs []dibs.Ref) []call {
	l.rows = [3]row{{data: &l.name}, {data: &l.entity}, {data: &l.document}}
	l.dests = documents.dests(entities.dests(names.dests([]any{&l.now}, &l.rows[0]), &l.rows[1]), &l.rows[2])
	var calls []call
	for first := true; first || len(refs) > 0; first = false {
		part := refs[:min(len(refs), maxRows)]
		refs = refs[len(part):]
		calls = append(calls, call{text: sql.named("load"), args: loadArgs(part), scan: l.scan})
	}
	return calls
}

func loadArgs(refs []dibs.Ref) []any {
	var (
		nameIDs, entityIDs, documentIDs = pgtype.FlatArray[uuid]{}, pgtype.FlatArray[uuid]{}, pgtype.FlatArray[uuid]{}
		kinds                           = pgtype.FlatArray[string]{}
	)
	for _, ref := range refs {
		switch ref.Kind {
		case dibs.KindName:
			nameIDs = append(nameIDs, uuid(ref.ID))
		case dibs.KindEntity:
			entityIDs = append(entityIDs, uuid(ref.ID))
		default:
			documentIDs = append(documentIDs, uuid(ref.ID))
			kinds = append(kinds, string(ref.Kind))
		}
	}
	return []any{nameIDs, entityIDs, kinds, documentIDs}
}

// scan reads the name, the entity and the document of a row. An absent one has revision 0.
func (l *loading) scan(from scanner) error {
	if err := from.Scan(l.dests...); err != nil {
		return err
	}
	if l.name.Rev > 0 {
		name := l.name
		if err := l.add(&name, l.rows[0].stamp); err != nil {
			return err
		}
	}
	if l.entity.Rev > 0 {
		entity := l.entity
		if err := l.add(&entity, l.rows[1].stamp); err != nil {
			return err
		}
	}
	if l.document.Rev > 0 {
		document := l.document
		return l.add(&document, 0)
	}
	return nil
}

func (l *loading) add(found sqlrow.Row, stamp int64) error {
	record, err := found.Record()
	l.records = append(l.records, record)
	l.stamp = max(l.stamp, stamp)
	return err
}
