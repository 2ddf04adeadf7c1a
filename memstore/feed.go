package memstore

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/calldibs/dibs"
)

// feed has the events in the order of their positions. The position of a deleted event is not
// used again.
type feed struct {
	last    uint64 // the newest position that was given out
	start   uint64 // positions up to this one are those of another feed
	all     []*entry
	deleted int // how many entries of all are deleted: fewer than half
	byName  map[dibs.ID][]*entry
}

// entry is an event at its position.
type entry struct {
	position uint64
	event    dibs.Event
	deleted  bool
}

// append adds an event at the end.
func (f *feed) append(event dibs.Event) {
	f.last++
	event.Cursor = f.end()
	e := &entry{position: f.last, event: event}
	f.all = append(f.all, e)
	if !event.ID.IsZero() {
		f.byName[event.ID] = append(f.byName[event.ID], e)
	}
}

// end returns the cursor of the newest event ever, or "" before the first event.
func (f *feed) end() dibs.Cursor {
	if f.last == 0 {
		return ""
	}
	return dibs.Cursor(strconv.FormatUint(f.last, 10))
}

// remove removes the events of a name.
func (f *feed) remove(name dibs.ID) {
	for _, e := range f.byName[name] {
		e.deleted, e.event = true, dibs.Event{}
		f.deleted++
	}
	delete(f.byName, name)
	if f.deleted > len(f.all)/2 {
		f.all = slices.DeleteFunc(f.all, func(e *entry) bool { return e.deleted })
		f.deleted = 0
	}
}

// redact replaces the event at a position, if it still exists.
func (f *feed) redact(event dibs.Event) {
	position, err := f.position(event.Cursor)
	i, found := search(f.all, position)
	if err == nil && found && !f.all[i].deleted {
		f.all[i].event = event
	}
}

// search returns the index of the first event at a position or behind it.
func search(entries []*entry, position uint64) (int, bool) {
	return slices.BinarySearchFunc(entries, position, func(e *entry, position uint64) int {
		return cmp.Compare(e.position, position)
	})
}

// page returns the events that a query selects.
func (f *feed) page(query dibs.EventQuery) ([]dibs.Event, error) {
	after, err := f.position(query.After)
	if err != nil {
		return nil, err
	}
	var entries []*entry
	if query.Name.IsZero() {
		start, _ := search(f.all, after+1)
		for _, e := range f.all[start:] {
			if len(entries) == query.Limit {
				break
			}
			if !e.deleted {
				entries = append(entries, e)
			}
		}
	} else {
		history := f.byName[query.Name]
		if after != 0 {
			end, _ := search(history, after)
			history = history[:end]
		}
		entries = slices.Clone(history[max(0, len(history)-query.Limit):])
		slices.Reverse(entries) // newest first
	}
	var page []dibs.Event
	for _, e := range entries {
		page = append(page, e.event)
	}
	return copyEvents(page), nil
}

// position returns the position of a cursor. It accepts only the spelling that append uses.
func (f *feed) position(cursor dibs.Cursor) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	position, err := strconv.ParseUint(string(cursor), 10, 64)
	if err != nil || position <= f.start || position > f.last || strconv.FormatUint(position, 10) != string(cursor) {
		return 0, dibs.ErrBadCursor
	}
	return position, nil
}
