package core

import (
	"context"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// historyLimit returns how many events a page has. There are few of most names, so whoever
// does not say gets the whole history of nearly all of them.
func historyLimit(limit int) int {
	if limit <= 0 {
		return maxPage
	}
	return min(limit, maxPage)
}

// History returns a page of the events of a name.
func (c *core) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	marks, err := decodeMarks(query.Cursor)
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
	limit := historyLimit(query.Limit)
	h := c.historyOf(name, limit+1) // one more tells whether there is another page
	if query.Cursor != "" {
		h.resume(marks)
	}
	var page dibs.HistoryPage
	for {
		row, err := h.newest(ctx)
		switch {
		case err != nil:
			return dibs.HistoryPage{}, err
		case row == nil:
			slices.Reverse(page.Events)
			return page, nil
		case len(page.Events) == limit:
			page.Next = h.cursor()
			slices.Reverse(page.Events)
			return page, nil
		}
		page.Events = append(page.Events, row.take())
	}
}

// WhoHeld returns who had a name at a moment, from its history. What is over but in
// nobody's history yet belongs to it all the same. Record and history are read one
// after the other; if the name has changed in between, both are read again.
func (c *core) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	question, invalid := c.rules().FindName(namespace, value)
	if invalid != nil {
		return dibs.Holder{}, invalid
	}
	name, err := askAlone(ctx, c, question)
	for range maxRereads {
		if err != nil {
			return dibs.Holder{}, err
		}
		holder, fail := c.holderAt(ctx, name, dibs.InstantOf(at))
		if fail != nil {
			return dibs.Holder{}, fail
		}
		row, rev := name.Row()
		if name, err = askAlone(ctx, c, question); err == nil {
			if rowNow, revNow := name.Row(); rowNow == row && revNow == rev {
				return holder, nil
			}
		}
	}
	return dibs.Holder{}, dibs.Unavailable(errContended)
}

// holderAt follows a history back to a moment, and on to when what was so then began. It
// keeps no more than a page of it.
func (c *core) holderAt(ctx context.Context, name rules.FoundName, at dibs.Instant) (dibs.Holder, error) {
	var (
		holder dibs.Holder
		found  bool
	)
	// tell is told what was so from an instant on, and reports whether it has heard enough.
	tell := func(from dibs.Instant, was dibs.Snapshot) (enough bool) {
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
	enough := false
	name.EndedAlone(func(from dibs.Instant, was dibs.Snapshot) bool {
		enough = tell(from, was)
		return !enough
	})
	moved := len(name.FormerRows()) > 0
	for h := c.historyOf(name, maxPage); !enough; {
		row, err := h.newest(ctx)
		if err != nil {
			return dibs.Holder{}, err
		}
		if row == nil {
			break
		}
		e := row.take()
		if moved && e.Kind == dibs.EventMoved && e.After.State == dibs.Free {
			continue // it left one row for another: nobody lost it
		}
		enough = tell(e.At, e.After)
	}
	if !found {
		holder.State = dibs.Free
	}
	if holder.State == dibs.Free {
		holder.Entity = dibs.Entity{}
	}
	return holder, nil
}

// eventsOf returns all events of a row, oldest first.
func (c *core) eventsOf(ctx context.Context, id dibs.ID) ([]dibs.Event, error) {
	var events []dibs.Event
	query := dibs.EventQuery{Name: id, Limit: maxPage}
	for {
		page, err := c.store.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		events = append(events, rules.HideForgotten(page)...)
		if len(page) < query.Limit {
			slices.Reverse(events)
			return events, nil
		}
		query.After = page[len(page)-1].Cursor
	}
}
