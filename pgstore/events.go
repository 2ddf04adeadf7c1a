package pgstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
)

// eventRow is an event: a line of a row of dibs_events.
type eventRow struct {
	seq, ord int64
	first    int64  // the ord of the row's first event
	place    int64  // its place in the row
	name     uuid   // zero: about an entity as a whole
	loose    uuid   // its name if it is in no chain: the batch does not write the name
	line     string // without prev

	// prev is the previous event of the name, as batch/ord. follows is the name, if only its row
	// knows that event; else zero.
	prev    string
	follows uuid
}

// eventsPerRow is how many events share a row: with more the server would store it out of line.
const eventsPerRow = 8

// chained is how the events of a batch are passed that may follow others.
var chained = table[eventRow]{name: "dibs_events", columns: []column[eventRow]{
	newColumn("first", arrays, func(e *eventRow) any { return &e.first }),
	newColumn("place", 0, func(e *eventRow) any { return &e.place }),
	newColumn("loose", orNull, func(e *eventRow) any { return &e.loose }),
	newColumn("prev", 0, func(e *eventRow) any { return &e.prev }),
	newColumn("follows", orNull, func(e *eventRow) any { return &e.follows }),
	newColumn("line", arrays, func(e *eventRow) any { return &e.line }),
}}

// newEventRow encodes an event. Neither JSON nor an escaped text has a tab or a line feed.
func newEventRow(e *dibs.Event, ord int) (*eventRow, error) {
	body, err := encodeBody(e)
	line := make([]byte, 0, 96+len(body))
	line = append(append(line, e.Kind...), '\t')
	line = append(strconv.AppendInt(line, int64(e.At), 10), '\t')
	line = append(strconv.AppendUint(line, e.Rev, 10), '\t')
	if !e.ID.IsZero() {
		line = hex.AppendEncode(line, e.ID[:])
	}
	line = append(append(append(line, '\t'), escape(e.Namespace)...), '\t')
	return &eventRow{ord: int64(ord), name: uuid(e.ID), line: string(append(line, body...))}, err
}

// event decodes a line that was read.
func (r *eventRow) event() (dibs.Event, error) {
	fields := strings.SplitN(r.line, "\t", 7)
	if len(fields) < 7 {
		return dibs.Event{}, fmt.Errorf("pgstore: event %s is damaged", position{r.seq, r.ord}.cursor())
	}
	e := dibs.Event{Cursor: position{r.seq, r.ord}.cursor(), Kind: dibs.EventKind(fields[1]), Namespace: unescape(fields[5])}
	at, err := strconv.ParseInt(fields[2], 10, 64)
	if err == nil {
		e.Rev, err = strconv.ParseUint(fields[3], 10, 64)
	}
	if err == nil {
		e.ID, err = parseID(fields[4])
	}
	if err != nil {
		return e, fmt.Errorf("pgstore: event %s is damaged: %w", e.Cursor, err)
	}
	e.At = dibs.Instant(at)
	return e, decodeBody(&e, []byte(fields[6]))
}

// position is the position of an event in the feed: the number of its batch, and its index
// in the batch.
type position struct{ seq, ord int64 }

func (p position) cursor() dibs.Cursor {
	return dibs.Cursor(strconv.FormatInt(p.seq, 10) + "-" + strconv.FormatInt(p.ord, 10))
}

func parseCursor(cursor dibs.Cursor) (p position, err error) {
	if cursor == "" {
		return position{0, -1}, nil
	}
	seq, ord, _ := strings.Cut(string(cursor), "-")
	if p.seq, err = strconv.ParseInt(seq, 10, 64); err == nil {
		p.ord, err = strconv.ParseInt(ord, 10, 32)
	}
	if err != nil || p.seq <= 0 || p.ord < 0 || p.cursor() != cursor {
		return position{}, badCursor(cursor)
	}
	return p, nil
}

func badCursor(cursor dibs.Cursor) error {
	return fmt.Errorf("%w: %q", dibs.ErrBadCursor, string(cursor))
}

// Events returns events behind a cursor, in the order in which their transactions were
// numbered; those of one name in reverse order.
func (s *Store) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	after, err := parseCursor(query.After)
	if err != nil {
		return nil, err
	}
	if err := s.checkStart(ctx, after); err != nil {
		return nil, err
	}
	var p page
	read := func() []call {
		p = page{}
		return p.calls(s.sql, after, query)
	}
	// In a history the unnumbered events come before all others.
	complete := func() bool { return len(p.events) == query.Limit }
	if !query.Name.IsZero() {
		complete = func() bool { return query.After != "" }
	}
	if err := s.readNumbered(ctx, &p, read, complete); err != nil {
		return nil, err
	}
	if after.seq > p.head {
		return nil, badCursor(query.After)
	}
	return p.events, nil
}

// Latest numbers what is committed, and returns the cursor behind the last number.
func (s *Store) Latest(ctx context.Context) (dibs.Cursor, error) {
	var p page
	err := s.readNumbered(ctx, &p, func() []call { return []call{p.headCall(s.sql)} }, func() bool { return false })
	if err != nil || p.head == 0 {
		return "", err
	}
	return position{p.head, math.MaxInt32}.cursor(), nil
}

// Seek returns the cursor just before a date.
func (s *Store) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return bisect.Feed(ctx, s, at, func(from, to dibs.Cursor) dibs.Cursor {
		low, _ := parseCursor(from) // both are cursors of this engine
		high, _ := parseCursor(to)
		middle := bisect.Middle(uint64(low.seq), uint64(high.seq))
		if middle == uint64(low.seq) {
			return from
		}
		return position{int64(middle), math.MaxInt32}.cursor()
	})
}

// readNumbered reads a page until it is complete, or has everything that was committed when the
// call began. Only numbered batches can be on it, so it numbers batches before it reads again.
func (s *Store) readNumbered(ctx context.Context, p *page, read func() []call, complete func() bool) error {
	err := s.read(ctx, read)
	for more := p.pending; more && err == nil && !complete(); {
		if err = s.calls.Begin(ctx); err != nil {
			return err
		}
		more, err = s.number(ctx)
		s.calls.End()
		if err == nil {
			err = s.read(ctx, read)
		}
	}
	return err
}

// page is one read of the feed.
type page struct {
	pending bool  // there are batches without a number
	head    int64 // the last number given out
	events  []dibs.Event
	row     eventRow
}

func (p *page) calls(sql *statements, after position, query dibs.EventQuery) []call {
	text, args := sql.named("page"), []any{after.seq, after.ord, query.Limit}
	if !query.Name.IsZero() {
		text, args = sql.named("history"), append(args, uuid(query.Name))
	}
	return []call{
		// The head first: a batch that is numbered in between may be on the page all the same.
		p.headCall(sql),
		{text: text, args: args, scan: p.scan},
	}
}

func (p *page) headCall(sql *statements) call {
	return call{text: sql.named("head"), scan: scanInto(&p.pending, &p.head)}
}

func (p *page) scan(row scanner) error {
	if err := row.Scan(&p.row.seq, &p.row.ord, &p.row.line); err != nil {
		return err
	}
	e, err := p.row.event()
	p.events = append(p.events, e)
	return err
}
