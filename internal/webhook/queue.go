package webhook

import (
	"cmp"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// item is an event on its way to a receiver.
type item struct {
	event *dibs.Event
	after dibs.Cursor // the place just before it
	key   string      // events with the same key are delivered one after another
	order uint64      // its place among all that were ever in the queue
	read  time.Time   // when the event was read from the feed

	attempts int
	first    time.Time // when it was first tried
	next     time.Time // when it may be tried next; zero means at once
	sending  bool
}

// keyOf returns what an event is in order with: the others of its name, or of its entity.
func keyOf(e *dibs.Event) string {
	if !e.ID.IsZero() {
		return string(e.ID[:])
	}
	return "entity\x00" + e.Scope + "\x00" + e.Entity.String()
}

// queue is what was read from the feed and is neither delivered nor given up, in the
// order of the feed. It decides what is sent when, and does nothing else.
type queue struct {
	items []*item
	head  dibs.Cursor // the place up to which the feed was read
	last  uint64      // the order of the newest item
	done  uint64      // that of the furthest one which was delivered or given up
}

// add puts an event behind the others.
func (q *queue) add(e *dibs.Event, after dibs.Cursor) *item {
	q.last++
	it := &item{event: e, after: after, key: keyOf(e), order: q.last, read: time.Now()}
	q.items = append(q.items, it)
	return it
}

// remove takes an item out that was delivered or given up.
func (q *queue) remove(it *item) {
	q.done = max(q.done, it.order)
	q.items = slices.DeleteFunc(q.items, func(other *item) bool { return other == it })
}

// restore undoes remove.
func (q *queue) restore(it *item) {
	at, _ := slices.BinarySearchFunc(q.items, it.order, func(other *item, order uint64) int { return cmp.Compare(other.order, order) })
	q.items = slices.Insert(q.items, at, it)
}

// due returns up to so many items that may be sent now: of each key none but the first.
func (q *queue) due(now time.Time, limit int) []*item {
	var due []*item
	taken := make(map[string]bool)
	for _, it := range q.items {
		if len(due) >= limit {
			break
		}
		if taken[it.key] {
			continue
		}
		taken[it.key] = true
		if !it.sending && !it.next.After(now) {
			due = append(due, it)
		}
	}
	return due
}

// probe returns the item to try a receiver with that is down: one of the first few that
// could be sent, the one that was tried least. With always the same, one event that is never
// accepted would look like a receiver that is down, and keep all others back.
func (q *queue) probe() *item {
	var probe *item
	taken := make(map[string]bool)
	for _, it := range q.items {
		if taken[it.key] {
			continue
		}
		if taken[it.key] = true; probe == nil || it.attempts < probe.attempts {
			probe = it
		}
		if len(taken) == probes {
			break
		}
	}
	return probe
}

// nextDue returns when an item that waits may be sent, or false where none does.
func (q *queue) nextDue(now time.Time) (next time.Time, some bool) {
	taken := make(map[string]bool)
	for _, it := range q.items {
		if taken[it.key] {
			continue
		}
		taken[it.key] = true
		if !it.sending && it.next.After(now) && (!some || it.next.Before(next)) {
			next, some = it.next, true
		}
	}
	return next, some
}

// hurry lets everything that waits be tried at once.
func (q *queue) hurry() {
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

// position returns what of the queue must be kept so that nothing is lost, and little is
// sent again: a place in the feed, and the items before it. Those at the end that were
// never tried can be read again, if nothing behind them is done.
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
