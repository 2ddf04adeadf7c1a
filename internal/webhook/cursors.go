package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
)

// LostCursor is not a cursor of any store. A webhook whose cursor was not one of its feed gets it when the
// registry moves: it says that it has lost its place, instead of skipping events.
const LostCursor dibs.Cursor = "lost"

// Translate changes cursors for another feed: of an event, the cursors just before and just behind it;
// of a position, which has no after, the cursor.
type Translate func(after, cursor *dibs.Cursor) error

// EachCursor returns a Translate that changes one cursor at a time. The empty one, which is the beginning
// of every feed, stays.
func EachCursor(translate func(dibs.Cursor) (dibs.Cursor, error)) Translate {
	return func(after, cursor *dibs.Cursor) error {
		for _, c := range []*dibs.Cursor{after, cursor} {
			if c == nil || *c == "" {
				continue
			}
			to, err := translate(*c)
			if err != nil {
				return err
			}
			*c = to
		}
		return nil
	}
}

// WithCursors returns a document with other cursors, for a registry that moves to a store with another
// feed. Documents without cursors, and of other packages, are returned as they are.
func WithCursors(d *dibs.Document, translate Translate) (*dibs.Document, error) {
	switch d.Kind {
	case kindState:
		return withCursors(d, func(s *state) error {
			for i := range s.Waiting {
				if err := translate(&s.Waiting[i].After, &s.Waiting[i].Cursor); err != nil {
					return err
				}
			}
			return translate(nil, &s.Cursor)
		})
	case kindDeadLetter:
		return withCursors(d, func(l *DeadLetter) error { return translate(&l.After, &l.Cursor) })
	default:
		return d, nil
	}
}

func withCursors[T any](d *dibs.Document, change func(*T) error) (*dibs.Document, error) {
	var content T
	if err := json.Unmarshal(d.Data, &content); err != nil {
		return nil, fmt.Errorf("webhook: %s %s cannot be read: %w", d.Kind, d.Label, err)
	}
	if err := change(&content); err != nil {
		return nil, err
	}
	data, err := json.Marshal(content)
	changed := *d
	changed.Data = data
	return &changed, err
}
