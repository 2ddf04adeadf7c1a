package core

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// history reads the events of a name from the newest one on, a page at a time. Where the
// rules of the namespace have changed, it goes on in the rows that had the name before.
type history struct {
	store  dibs.Store
	name   rules.FoundName
	rows   []*historyRow // of events with one date, those of the first row come first
	atOnce int           // how many events of a row are read at once
}

// historyRow is the events of one row.
type historyRow struct {
	id     dibs.ID
	former bool         // it had the name before: some of its events may be another name's
	mark                // behind what was taken
	events []dibs.Event // read and not taken yet, newest first
	read   bool         // there is nothing older to read
}

// mark is how far a row was read. Engines resume from cursors; what else is in it is known
// from newer events.
type mark struct {
	After dibs.Cursor `json:"a,omitempty"`
	// Epoch is that of the last event of a former row, and Ours says that it was this
	// name in it. No epoch means that nothing was read yet.
	Epoch uint64 `json:"e,omitempty"`
	Ours  bool   `json:"o,omitempty"`
}

func (c *core) historyOf(name rules.FoundName, atOnce int) *history {
	h := &history{store: c.store, name: name, atOnce: atOnce}
	for _, id := range name.FormerRows() {
		h.rows = append(h.rows, &historyRow{id: id, former: true})
	}
	row, _ := name.Row()
	h.rows = append(h.rows, &historyRow{id: row})
	return h
}

// newest returns the row that has the newest event that was not taken, or nil where there
// is none.
func (h *history) newest(ctx context.Context) (newest *historyRow, err error) {
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

// take returns the newest event of a row, and goes on to the next.
func (r *historyRow) take() dibs.Event {
	e := r.events[0]
	r.events, r.After = r.events[1:], e.Cursor
	return e
}

// advance goes on to the next event of a row that is this name's, and reads more of them
// where that takes it.
func (h *history) advance(ctx context.Context, r *historyRow) error {
	for {
		if len(r.events) == 0 {
			if r.read {
				return nil
			}
			page, err := h.page(ctx, r.id, r.After)
			if err != nil {
				return err
			}
			r.events, r.read = page, len(page) < h.atOnce
			continue
		}
		if !r.former {
			return nil
		}
		if e := &r.events[0]; e.Epoch != r.Epoch || e.Epoch == 0 {
			ours, err := h.meansUs(ctx, r)
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

// meansUs reports whether a former row was this name in the epoch of its next event, by what
// it was called in it: rows may have been other names, before and since. Nearly always that
// event tells.
func (h *history) meansUs(ctx context.Context, r *historyRow) (bool, error) {
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

func (h *history) page(ctx context.Context, row dibs.ID, after dibs.Cursor) ([]dibs.Event, error) {
	events, err := h.store.Events(ctx, dibs.EventQuery{Name: row, After: after, Limit: h.atOnce})
	return rules.HideForgotten(events), err
}

// resume goes on behind marks. A row that has none was read to its end, or the name came to
// it since, and then its events are newer than what was read. A mark of another row is of no
// use: it shows nothing but rows of this name.
func (h *history) resume(marks map[dibs.ID]mark) {
	for _, r := range h.rows {
		var left bool
		r.mark, left = marks[r.id]
		r.read = !left
	}
}

// cursor is the marks of the rows of which something is left.
func (h *history) cursor() string {
	marks := make(map[string]mark)
	for _, r := range h.rows {
		if len(r.events) > 0 || !r.read {
			marks[r.id.String()] = r.mark
		}
	}
	text, _ := json.Marshal(marks) // which are strings and numbers
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeMarks(cursor string) (map[dibs.ID]mark, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, dibs.ErrBadCursor
	}
	var named map[string]mark
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, dibs.ErrBadCursor
	}
	marks := make(map[dibs.ID]mark, len(named))
	for name, m := range named {
		id, err := dibs.ParseID(name)
		if err != nil {
			return nil, dibs.ErrBadCursor
		}
		marks[id] = m
	}
	return marks, nil
}
