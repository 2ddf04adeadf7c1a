package core

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

func (c *core) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	positions, err := decodePositions(query.Cursor)
	if err != nil {
		return dibs.HistoryPage{}, err
	}
	question, invalid := c.rules().FindName(query.Namespace, query.Value)
	if invalid != nil {
		return dibs.HistoryPage{}, invalid
	}
	name, err := askAlone(ctx, c, question)
	if err != nil {
		return dibs.HistoryPage{}, err
	}
	limit := pageSize(query.Limit, maxPage)       // most histories are short: the caller gets nearly all at once
	h := newHistoryReader(c.store, name, limit+1) // one more tells whether there is another page
	if query.Cursor != "" {
		h.resume(positions)
	}
	var page dibs.HistoryPage
	for {
		row, err := h.newest(ctx)
		if err != nil {
			return dibs.HistoryPage{}, err
		}
		if row != nil && len(page.Events) < limit {
			page.Events = append(page.Events, row.take())
			continue
		}
		if row != nil {
			page.Next = h.cursor()
		}
		slices.Reverse(page.Events)
		return page, nil
	}
}

type heldQuery struct {
	nameQuery
	at time.Time
}

// WhoHeld finds the owner or holder of a name at a moment in its history, and in the ends that no
// commit has written yet. It reads the record, then the history, and both again if the name
// changed in between.
func (c *core) WhoHeld(ctx context.Context, q heldQuery) (dibs.Holder, error) {
	question, invalid := c.rules().FindName(q.namespace, q.value)
	if invalid != nil {
		return dibs.Holder{}, invalid
	}
	version := func(n rules.FoundName) dibs.Read {
		row, rev := n.Row()
		return dibs.Read{Ref: dibs.Ref{ID: row}, Rev: rev}
	}
	var holder dibs.Holder
	_, err := askUnchanged(ctx, c, question, version, func(name rules.FoundName) (err error) {
		holder, err = c.holderAt(ctx, name, dibs.InstantOf(q.at))
		return err
	})
	if err != nil {
		return dibs.Holder{}, err
	}
	return holder, nil
}

// firstPage is how many events are read first to find the holder at a moment, which is nearly
// always among the last few.
const firstPage = 16

// holderAt reads a history back to a moment, and on to the beginning of the state at that
// moment. It keeps at most a page of events in memory. A history is a chain that is read from its
// end, so the cost grows with the number of events since that moment.
func (c *core) holderAt(ctx context.Context, name rules.FoundName, at dibs.Instant) (dibs.Holder, error) {
	var holder dibs.Holder
	var found bool
	// visit receives the state from an instant on, newest first, and reports whether holder is
	// complete.
	visit := func(from dibs.Instant, was dibs.Snapshot) (done bool) {
		switch {
		case from > at:
			return false
		case found && (was.State != holder.State || was.Entity != holder.Entity || was.Epoch != holder.Epoch):
			return true
		}
		found = true
		holder = dibs.Holder{State: was.State, Entity: was.Entity, Epoch: was.Epoch, Since: from.Time()}
		return false
	}
	done := false
	name.EndedAlone(func(from dibs.Instant, was dibs.Snapshot) bool {
		done = visit(from, was)
		return !done
	})
	moved := len(name.FormerRows()) > 0
	h := newHistoryReader(c.store, name, firstPage)
	h.largest = maxPage
	for !done {
		row, err := h.newest(ctx)
		if err != nil {
			return dibs.Holder{}, err
		}
		if row == nil {
			break
		}
		e := row.take()
		if moved && e.Kind == dibs.EventMoved && e.After.State == dibs.Free {
			continue // the name moved to another row: its holder kept it
		}
		done = visit(e.At, e.After)
	}
	if !found {
		holder.State = dibs.Free
	}
	if holder.State == dibs.Free {
		holder.Entity = dibs.Entity{}
	}
	return holder, nil
}

// historyReader reads the events of a name, newest first, a page at a time. After a change of
// the rules of its namespace, a name has former rows: the reader merges the events of all rows.
type historyReader struct {
	store    dibs.Store
	name     rules.FoundName
	rows     []*historyRow // the present row last; of events with one date, those of later rows are newer
	pageSize int           // how many events of a row are read at once
	largest  int           // up to which pages grow; 0 if they do not
}

// historyRow is the events of one row.
type historyRow struct {
	id          dibs.ID
	former      bool // some of its events may belong to another name
	rowPosition      // after the last event that was taken
	events      []dibs.Event
	complete    bool // events has all that the engine has
}

// rowPosition is how far a row was read. Engines resume from cursors. The other fields are
// known from newer events.
type rowPosition struct {
	After dibs.Cursor `json:"a,omitempty"`
	// Epoch is that of the last event of a former row, and Ours says whether the row was this
	// name in that epoch. Zero means that no event was read yet.
	Epoch uint64 `json:"e,omitempty"`
	Ours  bool   `json:"o,omitempty"`
}

func newHistoryReader(store dibs.Store, name rules.FoundName, pageSize int) *historyReader {
	h := &historyReader{store: store, name: name, pageSize: pageSize}
	for _, id := range name.FormerRows() {
		h.rows = append(h.rows, &historyRow{id: id, former: true})
	}
	row, _ := name.Row()
	h.rows = append(h.rows, &historyRow{id: row})
	return h
}

// newest returns the row that has the newest event that was not taken, or nil.
func (h *historyReader) newest(ctx context.Context) (newest *historyRow, err error) {
	for _, r := range h.rows {
		if err := h.advance(ctx, r); err != nil {
			return nil, err
		}
		if len(r.events) > 0 && (newest == nil || r.events[0].At >= newest.events[0].At) {
			newest = r
		}
	}
	return newest, nil
}

// take removes and returns the newest event of a row.
func (r *historyRow) take() dibs.Event {
	e := r.events[0]
	r.events, r.After = r.events[1:], e.Cursor
	return e
}

// advance skips events of a row that belong to another name, and reads pages as needed.
func (h *historyReader) advance(ctx context.Context, r *historyRow) error {
	for {
		if len(r.events) == 0 {
			if r.complete {
				return nil
			}
			page, err := h.page(ctx, r.id, r.After)
			if err != nil {
				return err
			}
			r.events, r.complete = page, len(page) < h.pageSize
			h.pageSize = max(h.pageSize, min(4*h.pageSize, h.largest))
			continue
		}
		if !r.former {
			return nil
		}
		if e := &r.events[0]; e.Epoch != r.Epoch || e.Epoch == 0 {
			ours, err := h.isOurs(ctx, r)
			if err != nil {
				return err
			}
			r.Epoch, r.Ours = e.Epoch, ours
		}
		if r.Ours {
			return nil
		}
		r.take()
	}
}

// isOurs reports whether a former row was this name in the epoch of its next event, by the
// values of the events of that epoch: a row may have been other names before and since. Nearly
// always the next event tells.
func (h *historyReader) isOurs(ctx context.Context, r *historyRow) (bool, error) {
	epoch, events := r.events[0].Epoch, r.events
	for {
		for _, e := range events {
			if e.Epoch != epoch {
				return false, nil
			}
			if h.name.Means(e.Value) {
				return true, nil
			}
		}
		if len(events) == 0 {
			return false, nil
		}
		var err error
		if events, err = h.page(ctx, r.id, events[len(events)-1].Cursor); err != nil {
			return false, err
		}
	}
}

func (h *historyReader) page(ctx context.Context, row dibs.ID, after dibs.Cursor) ([]dibs.Event, error) {
	events, err := h.store.Events(ctx, dibs.EventQuery{Name: row, After: after, Limit: h.pageSize})
	return rules.HideForgotten(events), err
}

// resume continues from positions. A row without one was read to its end, or the name moved to
// it since, and then its events are newer than those of the last page. A position of a row of
// another name has no effect, so a forged cursor shows nothing else.
func (h *historyReader) resume(positions map[dibs.ID]rowPosition) {
	for _, r := range h.rows {
		var unfinished bool
		r.rowPosition, unfinished = positions[r.id]
		r.complete = !unfinished
	}
}

// cursor encodes the positions of the rows that were not read to their end.
func (h *historyReader) cursor() string {
	positions := make(map[dibs.ID]rowPosition)
	for _, r := range h.rows {
		if len(r.events) > 0 || !r.complete {
			positions[r.id] = r.rowPosition
		}
	}
	text, _ := json.Marshal(positions) // strings and numbers always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodePositions(cursor string) (map[dibs.ID]rowPosition, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	var positions map[dibs.ID]rowPosition
	if err != nil || json.Unmarshal(text, &positions) != nil {
		return nil, dibs.ErrBadCursor
	}
	return positions, nil
}
