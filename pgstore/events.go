package pgstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
)

// eventRow is a row of dibs_events.
type eventRow struct {
	seq, at, rev, ord, prevOrd int64
	name, prevBatch            uuid
	loose                      bool // in no chain: the batch does not write the name
	kind, namespace, body      string

	// follows is the name whose last event is the previous one, if only its row knows that
	// event; else zero.
	follows uuid
}

var events = table[eventRow]{name: "dibs_events", columns: []column[eventRow]{
	newColumn("ord", arrays, func(e *eventRow) any { return &e.ord }),
	newColumn("at", 0, func(e *eventRow) any { return &e.at }),
	newColumn("rev", 0, func(e *eventRow) any { return &e.rev }),
	newColumn("name", orNull|arrays, func(e *eventRow) any { return &e.name }),
	newColumn("loose", 0, func(e *eventRow) any { return &e.loose }),
	newColumn("kind", 0, func(e *eventRow) any { return &e.kind }),
	newColumn("namespace", orNull, func(e *eventRow) any { return &e.namespace }),
	newColumn("body", 0, func(e *eventRow) any { return &e.body }),
}}

// chained is events with the links to the previous ones.
var chained = table[eventRow]{name: "dibs_events", columns: append(slices.Clip(events.columns),
	newColumn("prev_batch", orNull, func(e *eventRow) any { return &e.prevBatch }),
	newColumn("prev_ord", 0, func(e *eventRow) any { return &e.prevOrd }),
	newColumn("follows", orNull, func(e *eventRow) any { return &e.follows }),
)}

func newEventRow(e *dibs.Event, ord int) (*eventRow, error) {
	body, err := e.EncodeBody()
	return &eventRow{
		ord: int64(ord), at: int64(e.At), rev: int64(e.Rev), name: uuid(e.ID),
		kind: string(e.Kind), namespace: e.Namespace, body: string(body),
	}, err
}

func (r *eventRow) event() (dibs.Event, error) {
	e := dibs.Event{
		Cursor: position{r.seq, r.ord}.cursor(), Kind: dibs.EventKind(r.kind), At: dibs.Instant(r.at),
		ID: dibs.ID(r.name), Namespace: r.namespace, Rev: uint64(r.rev),
	}
	return e, e.DecodeBody([]byte(r.body))
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
	if err := row.Scan(events.dests([]any{&p.row.seq}, &p.row)...); err != nil {
		return err
	}
	e, err := p.row.event()
	p.events = append(p.events, e)
	return err
}
