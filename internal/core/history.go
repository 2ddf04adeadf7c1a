package core

import (
	"context"
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
	limit := maxPage // most histories are short: without a limit the caller gets nearly all at once
	if query.Limit > 0 {
		limit = min(query.Limit, maxPage)
	}
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

// WhoHeld finds the owner or holder of a name at a moment in its history, and in the ends that no
// commit has written yet. It reads the record, then the history, and both again if the name
// changed in between.
func (c *core) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	question, invalid := c.rules().FindName(namespace, value)
	if invalid != nil {
		return dibs.Holder{}, invalid
	}
	version := func(n rules.FoundName) dibs.Read {
		row, rev := n.Row()
		return dibs.Read{Ref: dibs.Ref{ID: row}, Rev: rev}
	}
	var holder dibs.Holder
	_, err := askUnchanged(ctx, c, question, version, func(name rules.FoundName) (err error) {
		holder, err = c.holderAt(ctx, name, dibs.InstantOf(at))
		return err
	})
	if err != nil {
		return dibs.Holder{}, err
	}
	return holder, nil
}

// holderAt reads a history back to a moment, and on to the beginning of the state at that
// moment. It keeps at most a page of events in memory.
func (c *core) holderAt(ctx context.Context, name rules.FoundName, at dibs.Instant) (dibs.Holder, error) {
	var (
		holder dibs.Holder
		found  bool
	)
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
	for h := newHistoryReader(c.store, name, maxPage); !done; {
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
