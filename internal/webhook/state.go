package webhook

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// item is an event on its way to a receiver.
type item struct {
	event  *dibs.Event
	after  dibs.Cursor // the cursor just before the event
	key    string      // events with the same key are delivered one after another
	read   time.Time   // when the event was read from the feed
	passed bool        // a later event was delivered or given up

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
}

func (q *queue) add(e *dibs.Event, after dibs.Cursor) *item {
	it := &item{event: e, after: after, key: keyOf(e), read: time.Now()}
	q.items = append(q.items, it)
	return it
}

// remove removes an item that was delivered or given up, and returns where it was.
func (q *queue) remove(it *item) (at int) {
	at = slices.Index(q.items, it)
	for _, earlier := range q.items[:at] {
		earlier.passed = true
	}
	q.items = slices.Delete(q.items, at, at+1)
	return at
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
	for cut > 0 && !q.items[cut-1].passed && q.items[cut-1].attempts == 0 {
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

// state is the progress of a hook's deliveries. All events up to the cursor were delivered or
// given up, except the waiting ones. Its times are by the clock of the process that delivers:
// they only schedule retries.
type state struct {
	Owner   string      `json:"owner,omitempty"` // the process that wrote it
	Cursor  dibs.Cursor `json:"cursor,omitempty"`
	Waiting []waiting   `json:"waiting,omitempty"`

	Failures    int          `json:"failures,omitempty"` // since the last success
	PausedUntil dibs.Instant `json:"pausedUntil,omitzero"`
	RetryAt     dibs.Instant `json:"nudged,omitzero"` // that of the hook which was last obeyed

	Delivered   uint64       `json:"delivered,omitempty"`
	Failed      uint64       `json:"failed,omitempty"`
	LastSuccess dibs.Instant `json:"lastSuccess,omitzero"`
	LastFailure dibs.Instant `json:"lastFailure,omitzero"`
	LastError   string       `json:"lastError,omitempty"`
	Oldest      dibs.Instant `json:"oldest,omitzero"` // when the oldest undelivered event happened
}

func stateDocOf(hook string) *doc[state] { return &doc[state]{kind: kindState, label: hook} }

// waiting is an event before the cursor that is neither delivered nor given up. The event
// itself stays in the feed.
type waiting struct {
	After    dibs.Cursor  `json:"after,omitempty"` // just before the event
	Cursor   dibs.Cursor  `json:"cursor"`          // just behind the event
	Attempts int          `json:"attempts,omitempty"`
	First    dibs.Instant `json:"first,omitzero"` // the first attempt
	Next     dibs.Instant `json:"next,omitzero"`  // the next attempt
}

// Status returns the state of a webhook's deliveries.
func (s *Service) Status(ctx context.Context, hook *Hook) (*wire.WebhookStatus, error) {
	st, dead := stateDocOf(hook.ID), deadLetterCountOf(hook.ID)
	if _, err := load(ctx, s.cfg.Store, st, dead); err != nil {
		return nil, err
	}
	c := st.content
	format := func(at dibs.Instant) string { return wire.FormatTime(at.Time()) }
	status := &wire.WebhookStatus{
		Waiting: len(c.Waiting), Behind: len(c.Waiting), Delivered: c.Delivered, Failed: c.Failed, LastError: c.LastError,
		LastSuccess: format(c.LastSuccess), LastFailure: format(c.LastFailure),
		DeadLetters: dead.content.Count, Dropped: dead.content.Dropped,
	}
	if c.PausedUntil.Time().After(time.Now()) {
		status.PausedUntil = format(c.PausedUntil)
	}
	if len(c.Waiting) > 0 {
		status.OldestAt = format(c.Oldest)
	}
	page, err := s.cfg.Registry.Events(ctx, dibs.FeedQuery{After: c.Cursor, Limit: maxBehind})
	if errors.Is(err, dibs.ErrBadCursor) {
		status.LastError = cursorLost
		return status, nil
	}
	for i := range page.Events {
		if e := &page.Events[i]; hook.wants(e) {
			status.Behind++
			status.OldestAt = cmp.Or(status.OldestAt, format(e.At))
		}
	}
	status.More = page.More
	return status, err
}

// cursorLost is the error of a webhook whose cursor the feed does not have.
const cursorLost = "the feed does not have the cursor up to which events were delivered, perhaps because a backup was restored: remove the webhook and add it again"

// maxBehind is how many undelivered events are counted at most.
const maxBehind = 1000
