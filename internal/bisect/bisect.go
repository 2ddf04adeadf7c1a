// Package bisect finds a date in the feed of an engine, without reading the feed from its
// beginning and without an index, which every write would have to maintain.
package bisect

import (
	"context"
	"slices"
	"strconv"

	"github.com/calldibs/dibs"
)

const (
	// probeSize is how many events show which date the feed has reached, and longProbe how many
	// if all of these are dated back.
	probeSize, longProbe = 16, 200
	// maxScan is how many events are read to find the first one that is not too old. They are few,
	// unless many are dated back.
	maxScan = 10_000
	maxPage = 1000
)

// Seeker is an optional interface of engines that find a date in their feed. Without it the
// registry reads the feed from its beginning.
type Seeker interface {
	// Seek returns the cursor just before the first event at or after a date, or the end of the
	// feed [events-seek]. It should read few events, however long the feed is.
	//
	// The feed is in the order of commits, and so nearly in that of dates. Ends and imports are
	// dated back, and show no place: among them Seek may return one that is too early. If the
	// engine's clock was set back, there are several places: any of them is right.
	Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error)
}

// Seek returns the cursor just before a date: it asks the engine, or reads the feed of one that cannot
// tell from its beginning.
func Seek(ctx context.Context, store dibs.Store, date dibs.Instant) (dibs.Cursor, error) {
	if seeker, ok := store.(Seeker); ok {
		return seeker.Seek(ctx, date)
	}
	for after := dibs.Cursor(""); ; {
		events, err := store.Events(ctx, dibs.EventQuery{After: after, Limit: maxPage})
		if err != nil || len(events) == 0 {
			return after, err
		}
		for _, e := range events {
			if e.At >= date {
				return after, nil
			}
			after = e.Cursor
		}
	}
}

// search is a search for a date.
type search struct {
	store   dibs.Store
	date    dibs.Instant
	between func(from, to dibs.Cursor) dibs.Cursor
}

// Feed returns the cursor just before the first event whose date is at or after a date, or the end
// of the feed. The dates of the feed ascend, except for those that are dated back; see
// [Seeker]. The function between returns a cursor about halfway between two, or the first of
// them if none is.
func Feed(ctx context.Context, store dibs.Store, date dibs.Instant, between func(from, to dibs.Cursor) dibs.Cursor) (dibs.Cursor, error) {
	end, err := store.Latest(ctx)
	if err != nil {
		return "", err
	}
	s := search{store, date, between}
	low, high := dibs.Cursor(""), end // the feed has not reached the date at low
	for middle := between(low, high); middle != low; middle = between(low, high) {
		reached, at, err := s.look(ctx, middle, high)
		if err != nil {
			return "", err
		}
		if reached {
			high = at
		} else {
			low = at
		}
	}
	return s.scan(ctx, low, end)
}

// look reports whether the feed has reached the date at a cursor, or at a later one before high: the
// events after the cursor may all be dated back. If none before high tells, it has reached it: the
// search rather ends too early than too late.
func (s search) look(ctx context.Context, middle, high dibs.Cursor) (reached bool, at dibs.Cursor, err error) {
	for at = middle; ; {
		known, reached, err := s.probe(ctx, at)
		if known || err != nil {
			return reached, at, err
		}
		next := s.between(at, high)
		if next == at {
			return true, middle, nil
		}
		at = next
	}
}

// probe reports whether the feed has reached the date at a cursor, if its next events show that.
func (s search) probe(ctx context.Context, after dibs.Cursor) (known, reached bool, err error) {
	for _, size := range []int{probeSize, longProbe} {
		events, err := s.store.Events(ctx, dibs.EventQuery{After: after, Limit: size})
		switch {
		case err != nil:
			return false, false, err
		case len(events) == 0 || slices.ContainsFunc(events, s.isReached):
			return true, true, nil
		case len(events) < size || slices.ContainsFunc(events, isDatedNow):
			return true, false, nil
		}
	}
	return false, false, nil
}

// scan returns the cursor just before the first event that is not too old, or the end.
func (s search) scan(ctx context.Context, start, end dibs.Cursor) (dibs.Cursor, error) {
	after := start
	for scanned, size := 0, probeSize; scanned < maxScan; size *= 2 {
		events, err := s.store.Events(ctx, dibs.EventQuery{After: after, Limit: size})
		if err != nil {
			return "", err
		}
		for _, e := range events {
			if s.isReached(e) {
				return after, nil
			}
			after = e.Cursor
		}
		if len(events) < size {
			return end, nil
		}
		scanned += size
	}
	return start, nil
}

func (s search) isReached(e dibs.Event) bool { return e.At >= s.date }

// isDatedNow reports whether the date of an event is that of its commit. Ends and imports are dated
// back, and may come in great numbers.
func isDatedNow(e dibs.Event) bool {
	switch e.Kind {
	case dibs.EventExpired, dibs.EventSuspected, dibs.EventGivenUp, dibs.EventUnlocked, dibs.EventImported:
		return false
	default:
		return true
	}
}

// Numbers is a between for cursors that are decimal numbers.
func Numbers(from, to dibs.Cursor) dibs.Cursor {
	low, _ := strconv.ParseUint(string(from), 10, 64) // 0 is the beginning
	high, _ := strconv.ParseUint(string(to), 10, 64)
	middle := Middle(low, high)
	if middle == low {
		return from
	}
	return dibs.Cursor(strconv.FormatUint(middle, 10))
}

// Middle returns the number halfway between two, rounded down.
func Middle(low, high uint64) uint64 { return low + (max(low, high)-low)/2 }
