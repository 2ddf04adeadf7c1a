package sqlitestore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/calldibs/dibs"
)

const (
	eventColumns     = 7 // as written
	eventColumnsRead = 8 // with what the name's row tells
)

// appendEvent appends a row of table events.
func (c *changes) appendEvent(args []any, e *dibs.Event) ([]any, error) {
	var name, id, namespace any
	encoded := *e
	if number := c.present[record{dibs.KindName, e.ID}].number; number != 0 {
		name = number
		// The name's row has its canonical form for all its events.
		if encoded.Value == encoded.Canonical {
			encoded.Value = ""
		}
		encoded.Canonical = ""
	} else {
		namespace = textOrNull(e.Namespace)
		if !e.ID.IsZero() {
			id = e.ID[:]
		}
	}
	body, err := encoded.EncodeBody()
	if err != nil {
		return nil, err
	}
	return append(args, string(e.Kind), int64(e.At), name, int64(e.Rev), string(body), id, namespace), nil
}

// scanEvent reads a row of table events.
func scanEvent(row []any) (dibs.Event, error) {
	e := dibs.Event{
		Cursor:    dibs.Cursor(strconv.FormatInt(asInt(row[0]), 10)),
		Kind:      dibs.EventKind(asText(row[1])),
		At:        dibs.Instant(asInt(row[2])),
		Namespace: asText(row[4]),
		Rev:       uint64(asInt(row[5])),
	}
	copy(e.ID[:], asBytes(row[3]))
	if err := e.DecodeBody([]byte(asText(row[6]))); err != nil {
		return e, err
	}
	if row[7] != nil {
		e.Canonical = asText(row[7])
		if e.Value == "" {
			e.Value = e.Canonical
		}
	}
	return e, nil
}

// eventsFrom reads events with what their names' rows tell.
const eventsFrom = `SELECT e.seq AS seq, e.kind, e.at, coalesce(n.id, e.id), coalesce(n.namespace, e.namespace) AS namespace, e.rev, e.body, n.canonical
	FROM dibs_events e LEFT JOIN dibs_names n ON n.n = e.name`

var (
	selectEvents   = newStatement(eventsFrom + ` WHERE e.seq > ? ORDER BY e.seq LIMIT ?`)
	selectEventsOf = newStatement(`SELECT * FROM (` + eventsFrom + ` WHERE e.name = (SELECT n FROM dibs_names WHERE id = ?1)
		UNION ALL ` + eventsFrom + ` WHERE e.id = ?1)
		WHERE seq > ?2 ORDER BY seq LIMIT ?3`)
	selectLastSeq = newStatement(`SELECT seq FROM sqlite_sequence WHERE name = 'dibs_events'`)
)

// Events returns events behind a cursor, in the order of their commits. The
// cursor is the event's number: one writer at a time gives them out, so a reader
// never sees a number before all smaller ones.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) (found []dibs.Event, err error) {
	err = s.read(ctx, func(run runner) error {
		found, err = readEvents(ctx, run, query)
		return err
	})
	return found, err
}

func readEvents(ctx context.Context, run runner, query dibs.EventQuery) (found []dibs.Event, err error) {
	after, err := parseCursor(query.After)
	if err != nil {
		return nil, err
	}
	st, args := selectEvents, []any{after, int64(query.Limit)}
	if !query.Name.IsZero() {
		st, args = selectEventsOf, []any{query.Name[:], after, int64(query.Limit)}
	}
	rows, err := run.query(ctx, st, args...)
	err = eachRow(rows, err, eventColumnsRead, func(row []any) error {
		e, err := scanEvent(row)
		found = append(found, e)
		return err
	})
	if err != nil || len(found) > 0 || after == 0 {
		return found, err
	}
	// Nothing behind it: the end of the feed, or a number never given out.
	var last int64
	if err := scanOne(ctx, run, selectLastSeq, &last); err != nil {
		return nil, err
	}
	if after > last {
		return nil, badCursor(query.After)
	}
	return nil, nil
}

func parseCursor(cursor dibs.Cursor) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	seq, err := strconv.ParseInt(string(cursor), 10, 64)
	if err != nil || seq < 0 || strconv.FormatInt(seq, 10) != string(cursor) {
		return 0, badCursor(cursor)
	}
	return seq, nil
}

func badCursor(cursor dibs.Cursor) error {
	return fmt.Errorf("%w: %q", dibs.ErrBadCursor, string(cursor))
}
