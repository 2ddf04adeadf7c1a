package webhook

import (
	"context"

	"github.com/calldibs/dibs"
)

// eventAt returns the event between two cursors, or nil if the feed no longer has it.
func eventAt(ctx context.Context, store dibs.Store, after, cursor dibs.Cursor) (*dibs.Event, error) {
	events, err := store.Events(ctx, dibs.EventQuery{After: after, Limit: 1})
	if err != nil || len(events) == 0 || events[0].Cursor != cursor {
		return nil, err
	}
	return &events[0], nil
}
