package copier

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/webhook"
)

// cursorsInUse returns the cursors in documents of the source, by the cursor of the event after
// them, and those that are not of its feed. A cursor is opaque, but the engine tells the event after it.
func (c *copying) cursorsInUse(ctx context.Context) (wanted map[dibs.Cursor][]dibs.Cursor, lost []dibs.Cursor, err error) {
	view, err := snapshot.Take(ctx, c.source)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = view.Close() }()
	wanted = make(map[dibs.Cursor][]dibs.Cursor)
	seen := make(map[dibs.Cursor]bool)
	for r, err := range view.Records(ctx, snapshot.Documents) {
		if err != nil {
			return nil, nil, err
		}
		if _, err := webhook.WithCursors(r.(*dibs.Document), webhook.EachCursor(func(cursor dibs.Cursor) (dibs.Cursor, error) {
			if seen[cursor] {
				return cursor, nil
			}
			seen[cursor] = true
			next, err := nextCursor(ctx, c.source, cursor)
			if errors.Is(err, dibs.ErrBadCursor) {
				lost = append(lost, cursor)
				return cursor, nil
			}
			wanted[next] = append(wanted[next], cursor)
			return cursor, err
		})); err != nil {
			return nil, nil, err
		}
	}
	return wanted, lost, nil
}

// nextCursor returns the cursor of the first event after a cursor; empty at the end of the feed.
func nextCursor(ctx context.Context, store dibs.Store, cursor dibs.Cursor) (dibs.Cursor, error) {
	events, err := store.Events(ctx, dibs.EventQuery{After: cursor, Limit: 1})
	if err != nil || len(events) == 0 {
		return "", err
	}
	return events[0].Cursor, nil
}

// translated returns a document with cursors of the target. While the source changes there are
// none, and such a document waits.
func (c *copying) translated(step Step, d *dibs.Document) (dibs.Record, error) {
	waits := false
	moved, err := webhook.WithCursors(d, webhook.EachCursor(func(cursor dibs.Cursor) (dibs.Cursor, error) {
		if step != Comparing {
			waits = true
			return "", nil
		}
		to, ok := c.cursors[cursor]
		if !ok {
			return "", fmt.Errorf("the cursor %s of a webhook was not found in the feed: %w", cursor, ErrDiffers)
		}
		return to, nil
	}))
	if err != nil || waits {
		return nil, err
	}
	return moved, nil
}

// lookAhead is how many events of the source are looked for in the target. Names may have been
// purged there since, with their events.
const lookAhead = 1000

// Translate returns the cursor of a finished copy for one of its source. A reader that resumes
// there misses nothing.
func Translate(ctx context.Context, source, target dibs.Store, cursor dibs.Cursor) (dibs.Cursor, error) {
	var s state
	if err := s.load(ctx, target); err != nil {
		return "", err
	}
	if s.Done == 0 {
		return "", ErrUnfinished
	}
	if fence, err := fenceOf(ctx, source); err != nil || fence.Copy != s.ID {
		return "", cmp.Or(err, ErrNotTarget)
	}
	following, err := source.Events(ctx, dibs.EventQuery{After: cursor, Limit: lookAhead})
	if err != nil {
		return "", err
	}
	if len(following) == 0 {
		return s.End, nil
	}
	ids := make(map[eventID]bool, len(following))
	for i := range following {
		ids[idOf(&following[i])] = true
	}
	view, err := snapshot.Take(ctx, target)
	if err != nil {
		return "", err
	}
	defer func() { _ = view.Close() }()
	last := dibs.Cursor("")
	for e, err := range view.Events(ctx, "") {
		if err != nil || ids[idOf(&e)] {
			return last, err
		}
		last = e.Cursor
	}
	return "", fmt.Errorf("%w: the target has none of the next %d events: read it from the beginning", ErrDiffers, len(following))
}
