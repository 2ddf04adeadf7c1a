package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
)

// WithCursors returns a document with other cursors, for a registry that moves to a store with another
// feed. Documents without cursors, and of other packages, are returned as they are. The empty cursor is
// the beginning of every feed, and stays.
func WithCursors(d *dibs.Document, translate func(dibs.Cursor) (dibs.Cursor, error)) (*dibs.Document, error) {
	switch d.Kind {
	case kindState:
		return withCursors(d, translate, func(s *state) (cursors []*dibs.Cursor) {
			for i := range s.Waiting {
				cursors = append(cursors, &s.Waiting[i].After, &s.Waiting[i].Cursor)
			}
			return append(cursors, &s.Cursor)
		})
	case kindDeadLetter:
		return withCursors(d, translate, func(l *DeadLetter) []*dibs.Cursor { return []*dibs.Cursor{&l.After, &l.Cursor} })
	}
	return d, nil
}

func withCursors[T any](d *dibs.Document, translate func(dibs.Cursor) (dibs.Cursor, error), in func(*T) []*dibs.Cursor) (*dibs.Document, error) {
	var content T
	if err := json.Unmarshal(d.Data, &content); err != nil {
		return nil, fmt.Errorf("webhook: %s %s cannot be read: %w", d.Kind, d.Label, err)
	}
	for _, cursor := range in(&content) {
		if *cursor == "" {
			continue
		}
		var err error
		if *cursor, err = translate(*cursor); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(content)
	changed := *d
	changed.Data = data
	return &changed, err
}
