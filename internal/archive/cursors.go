package archive

import (
	"context"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/webhook"
)

// place is a place in the feed: how many events of each part are before it.
type place []int

// tally counts the events of each part that are written, up to the places of the cursors in documents.
type tally struct {
	loader *loader
	all    int
	byPart place
	places map[int]place // by the number of events before
}

func newTally(l *loader) *tally {
	t := &tally{loader: l, byPart: make(place, len(l.parts)), places: make(map[int]place)}
	for _, c := range l.summary.cursors {
		t.places[c.Events] = nil
	}
	t.note()
	return t
}

// skip counts events of a single part.
func (t *tally) skip(events int) {
	for range max(0, events) {
		t.add(0)
	}
}

func (t *tally) add(part int) {
	t.all++
	t.byPart[part]++
	t.note()
}

func (t *tally) note() {
	if _, wanted := t.places[t.all]; wanted {
		t.places[t.all] = slices.Clone(t.byPart)
	}
}

// cursors finds the cursors of the places in the store.
func (t *tally) cursors(ctx context.Context) (*cursors, error) {
	c := &cursors{places: map[dibs.Cursor]place{"": make(place, len(t.byPart))}, end: t.byPart}
	for _, cursor := range t.loader.summary.cursors {
		c.places[cursor.Cursor] = t.places[cursor.Events]
	}
	for i, part := range t.loader.parts {
		own := map[int]dibs.Cursor{0: "", t.byPart[i]: ""}
		for _, at := range t.places {
			if at != nil {
				own[at[i]] = ""
			}
		}
		if len(t.places) > 0 {
			if err := fillCursors(ctx, part.Store, own); err != nil {
				return nil, err
			}
		}
		c.ofParts = append(c.ofParts, own)
	}
	return c, nil
}

// fillCursors sets the cursors of the events with the numbers that are in a map.
func fillCursors(ctx context.Context, store dibs.Store, cursors map[int]dibs.Cursor) error {
	view, err := snapshot.Take(ctx, store)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	number := 0
	for event, err := range view.Events(ctx, "") {
		if err != nil {
			return err
		}
		number++
		if _, wanted := cursors[number]; wanted {
			cursors[number] = event.Cursor
		}
	}
	return nil
}

// cursors translates the cursors in documents into those of the store.
type cursors struct {
	places  map[dibs.Cursor]place // of the archive's cursors; nil for one that is not in its feed
	ofParts []map[int]dibs.Cursor // the cursors of the parts, by the number of events before
	end     place
}

func (c *cursors) at(p place) dibs.Cursor {
	if p == nil {
		return webhook.LostCursor
	}
	own := make([]dibs.Cursor, len(p))
	for i, events := range p {
		own[i] = c.ofParts[i][events]
	}
	return joinCursors(own)
}

// translate is a [webhook.Translate].
func (c *cursors) translate(after, cursor *dibs.Cursor) error {
	behind, known := c.places[*cursor]
	if !known {
		return wrong("the cursor %q of a webhook is not among those of the archive", *cursor)
	}
	if after == nil {
		*cursor = c.at(behind)
		return nil
	}
	before, known := c.places[*after]
	if !known {
		return wrong("the cursor %q of a webhook is not among those of the archive", *after)
	}
	*after, *cursor = c.at(c.alone(before, behind)), c.at(c.alone(behind, before))
	return nil
}

// alone returns a place beside an event, given the other one beside it: with the parts that do not have
// the event at their ends. So the event is next, in whatever order the store merges its parts.
func (c *cursors) alone(p, other place) place {
	if p == nil || other == nil {
		return p
	}
	moved := slices.Clone(p)
	for i := range moved {
		if p[i] == other[i] {
			moved[i] = c.end[i]
		}
	}
	return moved
}

// joinCursors makes one cursor of those of all parts, each of which has the others at their beginning.
func joinCursors(own []dibs.Cursor) dibs.Cursor {
	var b strings.Builder
	for _, c := range slices.Sorted(slices.Values(own)) {
		b.WriteString(string(c))
	}
	return dibs.Cursor(b.String())
}
