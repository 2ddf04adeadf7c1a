package bisect_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/memstore"
)

// counting is a store that counts the events that are read.
type counting struct {
	dibs.Store
	calls, events int
}

func (c *counting) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	events, err := c.Store.Events(ctx, query)
	c.calls++
	c.events += len(events)
	return events, err
}

var start = dibs.InstantOf(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))

// at returns the date some seconds after the start.
func at(seconds int) dibs.Instant { return start.Add(time.Duration(seconds) * time.Second) }

// feedOf returns a store whose events have these kinds and dates.
func feedOf(t *testing.T, count int, event func(i int) (dibs.EventKind, dibs.Instant)) *counting {
	t.Helper()
	store := &counting{Store: memstore.New(memstore.Config{})}
	for first := 0; first < count; first += 1000 {
		var group dibs.Group
		for i := first; i < min(first+1000, count); i++ {
			kind, date := event(i)
			entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
			group.Events = append(group.Events, dibs.Event{Kind: kind, At: date, Entity: entity, Version: 1})
		}
		if _, err := store.Commit(t.Context(), []dibs.Group{group}); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func find(t *testing.T, store dibs.Store, date dibs.Instant) dibs.Cursor {
	t.Helper()
	cursor, err := bisect.Feed(t.Context(), store, date, bisect.Numbers)
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

// A date in a long feed is found with few reads.
func TestFewReads(t *testing.T) {
	t.Parallel()
	const count = 100_000
	store := feedOf(t, count, func(i int) (dibs.EventKind, dibs.Instant) { return dibs.EventClaimed, at(i) })
	for _, i := range []int{0, 1, 499, 50_000, count - 1} {
		store.calls, store.events = 0, 0
		if cursor := find(t, store, at(i)); cursor != cursorOf(i) {
			t.Errorf("event %d is after %q", i, cursor)
		}
		if store.calls > 20 || store.events > 500 {
			t.Errorf("event %d took %d calls, which read %d events", i, store.calls, store.events)
		}
	}
	if cursor := find(t, store, at(count)); cursor != cursorOf(count) {
		t.Errorf("a date after the last event is at %q", cursor)
	}
}

// A sweeper that was behind records many ends at once, with dates of long ago: they hide no events
// of the time before.
func TestEndsThatWereRecordedLate(t *testing.T) {
	t.Parallel()
	const count = 4000
	store := feedOf(t, count, func(i int) (dibs.EventKind, dibs.Instant) {
		if i%1000 >= 500 && i%1000 < 900 {
			return dibs.EventExpired, at(i % 7)
		}
		return dibs.EventClaimed, at(i)
	})
	for _, i := range []int{499, 900, 1000, 1250, 1400, 2000, 3400, 3999} {
		if cursor := find(t, store, at(i)); cursor != cursorOf(i) {
			t.Errorf("event %d is after %q", i, cursor)
		}
	}
}

// A large import, dated years back, hides no events before or after it.
func TestImport(t *testing.T) {
	t.Parallel()
	const begin, end, count = 20_000, 80_000, 100_000
	store := feedOf(t, count, func(i int) (dibs.EventKind, dibs.Instant) {
		if i >= begin && i < end {
			return dibs.EventImported, at(-i)
		}
		return dibs.EventClaimed, at(i)
	})
	for _, i := range []int{0, 1, 10_000, begin - 1, end + 1, 90_000, count - 1} {
		store.calls = 0
		if cursor := find(t, store, at(i)); cursor != cursorOf(i) {
			t.Errorf("event %d is after %q", i, cursor)
		}
		if store.calls > 500 { // beside the import each step of the search looks for its end
			t.Errorf("event %d took %d calls", i, store.calls)
		}
	}
	if cursor := find(t, store, at(50_000)); cursor != cursorOf(begin-1) && cursor != cursorOf(begin) {
		t.Errorf("the time of the import is at %q, which is not where it begins", cursor)
	}
}

// If the clock was set back, it finds one of the places where the feed reaches the date.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	const back = 5000
	dates := func(i int) dibs.Instant {
		if i >= back {
			return at(i - 1000)
		}
		return at(i)
	}
	store := feedOf(t, 10_000, func(i int) (dibs.EventKind, dibs.Instant) { return dibs.EventClaimed, dates(i) })
	for _, second := range []int{3999, 4000, 4500, 4999, 5000, 8000} {
		events, err := store.Events(t.Context(), dibs.EventQuery{After: find(t, store, at(second)), Limit: 1})
		if err != nil || len(events) == 0 || events[0].At != at(second) {
			t.Errorf("after second %d comes %v, %v", second, events, err)
		}
	}
}

func cursorOf(i int) dibs.Cursor {
	if i == 0 {
		return ""
	}
	return dibs.Cursor(fmt.Sprint(i))
}
