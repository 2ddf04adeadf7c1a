package routestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/snapshot"
)

// errMoving is the error of a move that must be finished: some names may be in their new part only.
var errMoving = errors.New("routestore: scopes are being moved: run the move again until it succeeds")

// moveScopes moves all names, entities and documents to the parts that the routes give their scopes
// to. No process uses the parts meanwhile: it has waited until the leases on the former routes were
// over, and those on the new ones begin when it is done.
//
// Everything is copied and compared before anything is deleted. So an interrupted move can be
// repeated: what is still in the former part is copied again, with the same result. It cannot be
// taken back: first of all the new routes become those by which names may have been given out, so
// that no process returns to others.
func (s *Store) moveScopes(ctx context.Context, written []storedRoutes, log *slog.Logger) ([]storedRoutes, error) {
	for i := range written {
		r := &written[i]
		if r.Former == s.table.text {
			continue // an earlier run has done it
		}
		r.Former = s.table.text
		if err := r.write(ctx, s.parts[i].engine); err != nil {
			return nil, fmt.Errorf("%w: part %q: %w", errMoving, r.Part, err)
		}
		r.rev++
	}
	for _, step := range []struct {
		name string
		of   func(move) func(context.Context, []dibs.Record) error
	}{
		{"copied", func(m move) func(context.Context, []dibs.Record) error { return m.copy }},
		{"compared", func(m move) func(context.Context, []dibs.Record) error { return m.compare }},
		{"deleted in its former part", func(m move) func(context.Context, []dibs.Record) error { return m.remove }},
	} {
		for _, from := range s.parts {
			moved, err := s.eachMoving(ctx, from, step.of)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errMoving, err)
			}
			if moved > 0 {
				log.Info("routestore: moving scopes", "from", from.name(), "records", moved, "step", step.name)
			}
		}
	}
	return written, nil
}

// moveRecords is how many records are moved at once.
const moveRecords = 100

// eachMoving makes a step with all records of a part that belong to another one, a page at a time.
func (s *Store) eachMoving(
	ctx context.Context, from *part, step func(move) func(context.Context, []dibs.Record) error,
) (moved int, err error) {
	view, err := snapshot.Take(ctx, from.engine)
	if err != nil {
		return 0, err
	}
	defer func() { _ = view.Close() }()
	pages := make([][]dibs.Record, len(s.parts))
	flush := func(to int) error {
		page := pages[to]
		pages[to] = nil
		moved += len(page)
		return step(move{from.engine, s.parts[to].engine})(ctx, page)
	}
	for _, table := range snapshot.Tables {
		for r, err := range view.Records(ctx, table) {
			if err != nil {
				return moved, err
			}
			scope := r.Ref().Scope
			to := s.table.partOf(scope)
			if scope == "" || to == from.index {
				continue
			}
			if pages[to] = append(pages[to], r); len(pages[to]) == moveRecords {
				if err := flush(to); err != nil {
					return moved, err
				}
			}
		}
	}
	for to := range pages {
		if len(pages[to]) > 0 {
			if err := flush(to); err != nil {
				return moved, err
			}
		}
	}
	return moved, nil
}

// move is the way from one engine to another.
type move struct{ from, to dibs.Store }

// copy writes records and the histories of names into the new part, in place of what an interrupted
// move has left there.
func (m move) copy(ctx context.Context, records []dibs.Record) error {
	there, err := load(ctx, m.to, records)
	if err != nil {
		return err
	}
	return commitAll(ctx, m.to, records, func(g *dibs.Group, r dibs.Record) error {
		w, read := dibs.Write{Record: r}, dibs.Read{Ref: r.Ref()}
		if was := there[r.Ref()]; was != nil {
			w.Renew, read.Rev = true, was.Revision()
		}
		if n, ok := r.(*dibs.NameRecord); ok {
			w.Was = stateIn(there, n.Ref())
			history, err := historyOf(ctx, m.from, n.ID)
			if err != nil {
				return err
			}
			g.Events = append(g.Events, history...)
		}
		g.Reads, g.Writes = append(g.Reads, read), append(g.Writes, w)
		return nil
	})
}

// compare checks that the new part has records and their histories.
func (m move) compare(ctx context.Context, records []dibs.Record) error {
	there, err := load(ctx, m.to, records)
	if err != nil {
		return err
	}
	for _, r := range records {
		ref := r.Ref()
		if was := there[ref]; was == nil || !snapshot.SameRecord(r, was) {
			return fmt.Errorf("the %s %s is not the same in its new part: another process writes there", ref.Kind, ref.ID)
		}
		if ref.Kind != dibs.KindName {
			continue
		}
		here, err := historyOf(ctx, m.from, ref.ID)
		if err != nil {
			return err
		}
		copied, err := historyOf(ctx, m.to, ref.ID)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(here, copied, func(a, b dibs.Event) bool { return snapshot.SameEvent(&a, &b) }) {
			return fmt.Errorf("the history of the name %s is not the same in its new part", ref.ID)
		}
	}
	return nil
}

// remove deletes records from the former part, with the histories of names.
func (m move) remove(ctx context.Context, records []dibs.Record) error {
	return commitAll(ctx, m.from, records, func(g *dibs.Group, r dibs.Record) error {
		w := dibs.Write{Record: r, Delete: true}
		if n, ok := r.(*dibs.NameRecord); ok {
			w.Was, w.Yields = n.State, n.State == dibs.Active
		}
		g.Reads, g.Writes = append(g.Reads, dibs.Read{Ref: r.Ref(), Rev: r.Revision()}), append(g.Writes, w)
		return nil
	})
}

func load(ctx context.Context, engine dibs.Store, records []dibs.Record) (map[dibs.Ref]dibs.Record, error) {
	refs := make([]dibs.Ref, len(records))
	for i, r := range records {
		refs[i] = r.Ref()
	}
	found, err := engine.Load(ctx, refs)
	if err != nil {
		return nil, err
	}
	byRef := make(map[dibs.Ref]dibs.Record, len(found.Records))
	for _, r := range found.Records {
		byRef[r.Ref()] = r
	}
	return byRef, nil
}

// stateIn returns the state of a name, and [dibs.Free] if it is absent.
func stateIn(records map[dibs.Ref]dibs.Record, ref dibs.Ref) dibs.State {
	if n, ok := records[ref].(*dibs.NameRecord); ok {
		return n.State
	}
	return dibs.Free
}

// historyOf returns the events of a name, oldest first and without cursors.
func historyOf(ctx context.Context, engine dibs.Store, name dibs.ID) (events []dibs.Event, err error) {
	for query := (dibs.EventQuery{Name: name, Limit: snapshot.PageSize}); ; {
		page, err := engine.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		events = append(events, page...)
		if len(page) < query.Limit {
			break
		}
		query.After = page[len(page)-1].Cursor
	}
	slices.Reverse(events)
	for i := range events {
		events[i].Cursor = ""
	}
	return events, nil
}

// commitAll commits the changes that add makes for records, as many at once as the engine allows.
func commitAll(ctx context.Context, engine dibs.Store, records []dibs.Record, add func(*dibs.Group, dibs.Record) error) error {
	retry := backoff.Backoff{First: 5 * time.Millisecond, Max: time.Second}
	for size := len(records); len(records) > 0; {
		size = min(size, len(records))
		var g dibs.Group
		for _, r := range records[:size] {
			if err := add(&g, r); err != nil {
				return err
			}
		}
		outcomes, err := engine.Commit(ctx, []dibs.Group{g})
		switch {
		case err != nil:
			return err
		case outcomes[0] == dibs.Committed:
			records = records[size:]
		case outcomes[0] == dibs.TooLarge && size > 1:
			size /= 2
		case outcomes[0] == dibs.Busy:
			if err := retry.Wait(ctx); err != nil {
				return err
			}
		default:
			return errors.New("another process writes to the parts: stop it")
		}
	}
	return nil
}
