package pgstore

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// queries are the reads that a store and a caller's transaction have in common.
type queries struct {
	sql *statements
	// read runs calls that change nothing. It may make and run them several times.
	read func(ctx context.Context, calls func() []call) error
}

// collect returns what scan makes of the rows of a statement.
func collect[T any](ctx context.Context, q *queries, text string, args []any, scan func(scanner) (T, error)) (list []T, err error) {
	err = q.read(ctx, func() []call {
		list = nil
		return []call{{text: text, args: args, scan: func(row scanner) error {
			value, err := scan(row)
			list = append(list, value)
			return err
		}}}
	})
	return list, err
}

// Due returns refs of records that are due, earliest first.
func (q *queries) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return collect(ctx, q, q.sql.named("due"), []any{limit}, func(row scanner) (dibs.Ref, error) {
		var (
			kind, scope string
			id          uuid
		)
		err := row.Scan(&kind, &scope, &id)
		return sqlrow.DueRef(kind, scope, dibs.ID(id)), err
	})
}

// Owned returns an entity's active names and aliases in the order of their keys.
func (q *queries) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	args := []any{uuid(dibs.EntityID(scope, entity)), limit}
	return collect(ctx, q, q.sql.named("owned"), args, func(row scanner) (*dibs.NameRecord, error) {
		record, err := scanRecord(names, row)
		name, _ := record.(*dibs.NameRecord)
		return name, err
	})
}

// Count counts names by namespace and state, and the held ones that are due soon.
func (q *queries) Count(ctx context.Context, soon dibs.Instant) (stats dibs.Stats, err error) {
	err = q.read(ctx, func() []call {
		stats = dibs.Stats{}
		return []call{q.sql.count(soon, &stats)}
	})
	return stats, err
}

// count returns the call that counts names.
func (s *statements) count(soon dibs.Instant, stats *dibs.Stats) call {
	return call{text: s.named("count"), args: []any{int64(soon)}, scan: func(row scanner) error {
		var c dibs.NameCount
		err := row.Scan(&c.Namespace, (*string)(&c.State), &c.Count)
		if c.State == "" {
			stats.EndingSoon = c.Count
		} else {
			stats.Names = append(stats.Names, c)
		}
		return err
	}}
}

// Counts returns how many names are counted, and not counted yet.
func (v *view) Counts(ctx context.Context) ([]dibs.NameCount, error) {
	var stats dibs.Stats
	err := v.read(ctx, v.store.sql.count(0, &stats))
	return stats.Names, err
}

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

// present is what the records of groups are now.
type present struct {
	now       dibs.Instant
	revisions map[dibs.Ref]uint64 // absent records have none
}

// presentOf reads the revisions of the records that groups have read, and the time.
func (s *Store) presentOf(ctx context.Context, groups iter.Seq[*dibs.Group]) (present, error) {
	var refs []dibs.Ref
	for g := range groups {
		for i := range g.Reads {
			refs = append(refs, g.Reads[i].Ref)
		}
	}
	var l loading
	if err := s.retryRead(ctx, func() []call {
		l = loading{}
		return l.calls(s.sql, refs)
	}); err != nil {
		return present{}, err
	}
	p := present{dibs.Instant(l.now), make(map[dibs.Ref]uint64, len(l.records))}
	for _, r := range l.records {
		p.revisions[withoutScope(r.Ref())] = r.Revision()
	}
	return p, nil
}

// outdates reports whether a record has another revision than when a group read it, or the time of the
// group is over.
func (p present) outdates(g *dibs.Group) bool {
	return g.Window.Before != 0 && g.Window.Before <= p.now ||
		slices.ContainsFunc(g.Reads, func(read dibs.Read) bool { return p.revisions[withoutScope(read.Ref)] != read.Rev })
}

func withoutScope(ref dibs.Ref) dibs.Ref { return dibs.Ref{Kind: ref.Kind, ID: ref.ID} }

const beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// loading collects the records of a Load.
type loading struct {
	now     int64
	records []dibs.Record
	stamp   int64 // the highest

	name     sqlrow.Name
	entity   sqlrow.Entity
	document sqlrow.Document
	rows     [3]row // with the data of the last one found
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
		l.rows[0].data = &name
		if err := l.add(&l.rows[0]); err != nil {
			return err
		}
	}
	if l.entity.Rev > 0 {
		entity := l.entity
		l.rows[1].data = &entity
		if err := l.add(&l.rows[1]); err != nil {
			return err
		}
	}
	if l.document.Rev > 0 {
		document := l.document
		l.rows[2].data = &document
		return l.add(&l.rows[2])
	}
	return nil
}

func (l *loading) add(found *row) error {
	record, err := found.record()
	l.records = append(l.records, record)
	l.stamp = max(l.stamp, found.stamp)
	return err
}

var errUnderWay = errors.New("pgstore: another commit or transaction that decides the answer is still under way")

// Await tries to lock the rows, and unlocks them at once. A transaction that changes a row keeps
// it locked from before it reads the clock until its changes are visible, also while its COMMIT
// waits for a standby. Await polls instead of waiting in the database, so that waiting calls do
// not use up the connections.
func (s *Store) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	if _, limited := ctx.Deadline(); !limited {
		limit, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
		ctx = limit
	}
	return unavailable(untilIdle(ctx, func() (idle bool, err error) {
		err = s.retryRead(ctx, func() []call {
			idle = true
			// ROLLBACK: the COMMIT of a transaction that locked a row would wait for the standby.
			return slices.Concat([]call{{text: beginLock}}, awaitCalls(s.sql, refs, end, &idle), []call{{text: "ROLLBACK"}})
		})
		return idle, err
	}))
}

// beginLock sees the present rows, not those of a snapshot.
const beginLock = "BEGIN ISOLATION LEVEL READ COMMITTED"

// untilIdle polls until nothing is under way.
func untilIdle(ctx context.Context, poll func() (idle bool, err error)) error {
	for retry := newBackoff(); ; {
		if idle, err := poll(); err != nil || idle {
			return err
		}
		if err := retry.Wait(ctx); err != nil {
			return errors.Join(errUnderWay, err)
		}
	}
}

// awaitCalls returns the statements that clear idle while a transaction changes one of refs,
// or the clock has not reached end.
func awaitCalls(sql *statements, refs []dibs.Ref, end dibs.Instant, idle *bool) []call {
	var calls []call
	for part := range slices.Chunk(refs, maxRows) {
		calls = append(calls, call{text: sql.named("await"), args: append(loadArgs(part), int64(end)), scan: func(row scanner) error {
			var free bool
			err := row.Scan(&free)
			*idle = *idle && free
			return err
		}})
	}
	return calls
}

// Await locks the rows until the caller's transaction ends, so that no other transaction can
// change them. A read-only transaction cannot lock; since it has changed nothing, the store
// waits outside of it.
func (s *txStore) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	var readOnly string
	err := s.run(ctx, call{text: "SHOW transaction_read_only", scan: scanInto(&readOnly)})
	switch {
	case err != nil:
		return err
	case readOnly == "on":
		return s.store.Await(ctx, refs, end)
	}
	ctx, cancel := context.WithTimeout(ctx, s.store.cfg.Timeout)
	defer cancel()
	return unavailable(untilIdle(ctx, func() (bool, error) {
		idle := true
		err := s.run(ctx, awaitCalls(s.sql, refs, end, &idle)...)
		return idle, err
	}))
}
