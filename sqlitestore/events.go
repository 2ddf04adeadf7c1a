package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
)

// eventRow is an event with its number, the number of its name's row, and the number of the
// name's previous event.
type eventRow struct {
	*dibs.Event
	seq, name, prev int64
}

// appendTo appends the row.
func (e *eventRow) appendTo(args []any) []any {
	var id, namespace any
	if e.name == 0 {
		if e.Namespace != "" {
			namespace = e.Namespace
		}
		if !e.ID.IsZero() {
			id = e.ID[:]
		}
	}
	body := encodeBody(e.Event, e.name != 0, e.seq, e.prev)
	return append(args, e.seq, string(e.Kind), int64(e.At), intOrNull(e.name), intOrNull(e.prev), int64(e.Rev), body, id, namespace)
}

var redactEvent = newStatement(`UPDATE dibs_events SET body = CASE WHEN name IS NULL THEN ?1 ELSE ?2 END WHERE seq = ?3`)

// redact replaces the bodies of events.
func (c *changes) redact(ctx context.Context, run runner) error {
	for _, e := range c.redacts {
		seq, err := parseCursor(e.Cursor)
		if err != nil {
			return err
		}
		if err := run.exec(ctx, redactEvent, encodeBody(e, false, seq, unknown), encodeBody(e, true, seq, unknown), seq); err != nil {
			return err
		}
	}
	return nil
}

// scanEvent reads a row of [eventsFrom].
func scanEvent(ctx context.Context, run runner, row []driver.Value) (dibs.Event, error) {
	e := dibs.Event{
		Cursor:    cursorOf(asInt(row[0])),
		Kind:      dibs.EventKind(asText(row[1])),
		At:        dibs.Instant(asInt(row[2])),
		Namespace: asText(row[4]),
		Rev:       uint64(asInt(row[5])),
	}
	copy(e.ID[:], asBytes(row[3]))
	e.Canonical = asText(row[7])
	body, ok := row[6].([]byte)
	if !ok {
		return e, damagedEvent(&e, asInt(row[0]))
	}
	err := decodeBody(&e, body, asInt(row[0]), asInt(row[9]))
	if hasRow := row[8] != nil; err == nil && hasRow && e.ID != dibs.NameID(e.Namespace, e.Canonical) {
		err = checkName(ctx, run, e.ID)
	}
	return e, err
}

// checkName checks the sum of a name's row. Its events have namespace and canonical form from there. Mostly the
// ID tells that these are right; not so if the name was forgotten, or hidden under another key.
func checkName(ctx context.Context, run runner, id dibs.ID) error {
	found, err := loadRefs(ctx, run, []dibs.Ref{{Kind: dibs.KindName, ID: id}}, false)
	if err == nil && len(found) == 0 {
		err = damaged("name %s", id)
	}
	return err
}

// eventColumns are the columns of an event, with those from the row of its name. The last one is the last of the table:
// so SQLite looks at the whole row, and finds damaged lengths.
const (
	eventColumns = `e.kind, e.at, coalesce(n.id, e.id), coalesce(n.namespace, e.namespace), e.rev, e.body, n.canonical, e.name, e.prev, e.namespace`
	eventsFrom   = `SELECT e.seq AS seq, ` + eventColumns + ` FROM dibs_events e LEFT JOIN dibs_names n ON n.n = e.name`
)

var (
	selectEvents = newStatement(eventsFrom + ` WHERE e.seq > ? ORDER BY e.seq LIMIT ?`)
	// The chain from the name's row, or from the event before the cursor. It follows no more
	// links than the page has room for, so the cost of a page does not grow with the history.
	// Events from before there was a row come last. A link that leads nowhere is an event without columns.
	selectHistory = newStatement(`SELECT * FROM (
		WITH RECURSIVE chain(seq, n) AS (
			SELECT CASE ?2 WHEN 0 THEN last_event ELSE (SELECT prev FROM dibs_events WHERE seq = ?2 AND name = dibs_names.n) END, 1
				FROM dibs_names WHERE id = ?1
			UNION ALL
			SELECT e.prev, chain.n + 1 FROM chain JOIN dibs_events e ON e.seq = chain.seq WHERE e.prev IS NOT NULL AND chain.n < ?3
		) SELECT chain.seq AS seq, ` + eventColumns + `
			FROM chain LEFT JOIN dibs_events e ON e.seq = chain.seq LEFT JOIN dibs_names n ON n.n = e.name WHERE chain.seq IS NOT NULL
		UNION ALL ` + eventsFrom + ` WHERE e.id = ?1 AND (?2 = 0 OR e.seq < ?2))
		ORDER BY seq DESC LIMIT ?3`)
	selectLastSeq = newStatement(`SELECT max(coalesce((SELECT max(seq) FROM dibs_events), 0), coalesce((SELECT seq FROM dibs_ends), 0))`)
)

// Events returns events behind a cursor, in the order of their commits. The cursor is the
// number of the event. One writer at a time gives them out, so a reader never sees a number
// before all smaller ones.
func (q *queries) Events(ctx context.Context, query dibs.EventQuery) (found []dibs.Event, err error) {
	err = q.read(ctx, func(run runner) error {
		after, err := parseCursor(query.After)
		if err != nil {
			return err
		}
		if err := checkStart(ctx, run, after); err != nil {
			return err
		}
		st, args := selectEvents, []any{after, int64(query.Limit)}
		if !query.Name.IsZero() {
			st, args = selectHistory, []any{query.Name[:], after, int64(query.Limit)}
		}
		previous := after
		err = run.query(ctx, st, args, func(row []driver.Value) error {
			e, err := scanEvent(ctx, run, row)
			seq := asInt(row[0])
			switch {
			case err != nil:
			case query.Name.IsZero() && seq <= previous:
				err = damaged("the order of dibs_events")
			case !query.Name.IsZero() && (e.ID != query.Name || previous > 0 && seq >= previous):
				err = damaged("the history of name %s", query.Name)
			}
			previous = seq
			found = append(found, e)
			return err
		})
		if err != nil || len(found) > 0 || after == 0 {
			return err
		}
		// No events follow: it is the end, or the number was never given out.
		last, err := readInt(ctx, run, selectLastSeq)
		if err == nil && after > last {
			err = badCursor(query.After)
		}
		return err
	})
	return found, err
}

// Latest returns the number of the newest event ever.
func (s *Store) Latest(ctx context.Context) (latest dibs.Cursor, err error) {
	err = s.read(ctx, func(run runner) error {
		last, err := readInt(ctx, run, selectLastSeq)
		if err == nil && last > 0 {
			latest = cursorOf(last)
		}
		return err
	})
	return latest, err
}

// Seek returns the cursor just before a date.
func (s *Store) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return bisect.Feed(ctx, s, at, bisect.Numbers)
}

func cursorOf(seq int64) dibs.Cursor { return dibs.Cursor(strconv.FormatInt(seq, 10)) }

func parseCursor(cursor dibs.Cursor) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	seq, err := strconv.ParseInt(string(cursor), 10, 64)
	if err != nil || seq <= 0 || cursorOf(seq) != cursor {
		return 0, badCursor(cursor)
	}
	return seq, nil
}

func badCursor(cursor dibs.Cursor) error {
	return fmt.Errorf("%w: %q", dibs.ErrBadCursor, string(cursor))
}
