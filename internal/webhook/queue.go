package webhook

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// item is an event on its way to a receiver.
type item struct {
	event *dibs.Event
	after dibs.Cursor // the cursor just before the event
	key   string      // events with the same key are delivered one after another
	order uint64      // its number among all that were ever in the queue
	read  time.Time   // when the event was read from the feed

	attempts int
	first    time.Time // the first attempt
	next     time.Time // the earliest next attempt; zero means at once
	sending  bool
}

// keyOf returns the key of an event: its name, or else its entity.
func keyOf(e *dibs.Event) string {
	if !e.ID.IsZero() {
		return string(e.ID[:])
	}
	return "entity\x00" + e.Scope + "\x00" + e.Entity.String()
}

// queue holds the events that were read from the feed and are neither delivered nor given up,
// in the order of the feed. It decides when to send which; it does no I/O.
type queue struct {
	items []*item
	head  dibs.Cursor // the cursor up to which the feed was read
	last  uint64      // the order of the newest item
	done  uint64      // the highest order that was delivered or given up
}

// add appends an event.
func (q *queue) add(e *dibs.Event, after dibs.Cursor) *item {
	q.last++
	it := &item{event: e, after: after, key: keyOf(e), order: q.last, read: time.Now()}
	q.items = append(q.items, it)
	return it
}

// remove removes an item that was delivered or given up.
func (q *queue) remove(it *item) {
	q.done = max(q.done, it.order)
	q.items = slices.DeleteFunc(q.items, func(other *item) bool { return other == it })
}

// restore undoes remove.
func (q *queue) restore(it *item) {
	at, _ := slices.BinarySearchFunc(q.items, it.order, func(other *item, order uint64) int { return cmp.Compare(other.order, order) })
	q.items = slices.Insert(q.items, at, it)
}

// heads returns the first item of each key.
func (q *queue) heads() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		seen := make(map[string]bool)
		for _, it := range q.items {
			if seen[it.key] {
				continue
			}
			seen[it.key] = true
			if !yield(it) {
				return
			}
		}
	}
}

// due returns up to limit items that may be sent now: only the first of each key.
func (q *queue) due(now time.Time, limit int) []*item {
	var due []*item
	for it := range q.heads() {
		if len(due) >= limit {
			break
		}
		if !it.sending && !it.next.After(now) {
			due = append(due, it)
		}
	}
	return due
}

// probe returns the item to try with a receiver that is down: the one with the fewest attempts
// among the first few. If it were always the same, one event that is never accepted would
// look like a receiver that is down, and block all others.
func (q *queue) probe() *item {
	var probe *item
	n := 0
	for it := range q.heads() {
		if probe == nil || it.attempts < probe.attempts {
			probe = it
		}
		if n++; n == probes {
			break
		}
	}
	return probe
}

// nextDue returns when the next waiting item becomes due; false if none waits.
func (q *queue) nextDue(now time.Time) (next time.Time, ok bool) {
	for it := range q.heads() {
		if !it.sending && it.next.After(now) && (!ok || it.next.Before(next)) {
			next, ok = it.next, true
		}
	}
	return next, ok
}

// retryNow makes all waiting items due.
func (q *queue) retryNow() {
	for _, it := range q.items {
		it.next = time.Time{}
	}
}

// oldest returns when the oldest event happened, or the zero Instant.
func (q *queue) oldest() dibs.Instant {
	if len(q.items) == 0 {
		return 0
	}
	return q.items[0].event.At
}

// position returns the part of the queue to save, so that nothing is lost and little is sent
// again: a cursor, and the items before it. Items at the end that were never tried are left
// out if no later item is done: they can be read again.
func (q *queue) position() (dibs.Cursor, []waiting) {
	cut := len(q.items)
	for cut > 0 && q.items[cut-1].order > q.done && q.items[cut-1].attempts == 0 {
		cut--
	}
	cursor := q.head
	if cut < len(q.items) {
		cursor = q.items[cut].after
	}
	var list []waiting
	for _, it := range q.items[:cut] {
		list = append(list, waiting{
			After: it.after, Cursor: it.event.Cursor, Attempts: it.attempts,
			First: dibs.InstantOf(it.first), Next: dibs.InstantOf(it.next),
		})
	}
	return cursor, list
}
