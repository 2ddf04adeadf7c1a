package webhook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

const (
	// failuresUntilDown is after how many failures in a row a receiver counts as down. It
	// then gets one event at a time, and the others wait in the feed.
	failuresUntilDown = 5
	// probes is how many events take turns to try a receiver that is down.
	probes = 5
	// shutdownGrace is how long deliveries in flight may take when the process ends.
	shutdownGrace = 2 * time.Second
	// pageSize is how many events are read from the feed at once.
	pageSize = 100
	// saveAfter is the number of deliveries after which the state is saved at the latest.
	saveAfter = 100
)

// errStopped stops a runner: another process delivers for the hook, or the hook was removed, or
// its receiver wants no more events.
var errStopped = errors.New("webhook: another process delivers, or the webhook was removed or disabled")

// runner delivers for one hook. One goroutine does all of it, except reading and sending.
type runner struct {
	*Service
	id      string
	lease   *lease
	hook    *Hook
	changes chan *Hook // the hook after a change

	// For the Dispatcher.
	passed    uint64 // the revision of the hook that the runner got last
	cancel    context.CancelFunc
	goroutine sync.WaitGroup
	ended     atomic.Bool

	state *doc[state] // the current content, with the revision that was last saved
	queue queue

	reading bool
	pages   chan dibs.EventPage
	sending int
	results chan result

	retriedAt time.Time // when a caller last asked to retry failed deliveries at once

	unsaved int  // attempts since the state was saved
	moved   bool // the position in the feed changed since the state was saved
	savedAt time.Time
}

type result struct {
	item    *item
	attempt Attempt
	event   *dibs.Event // as it was sent; nil if the feed no longer has it
	err     error       // why nothing was sent
}

func newRunner(s *Service, l *lease, hook *Hook) *runner {
	return &runner{
		Service: s, id: hook.ID, lease: l, hook: hook, passed: hook.rev, changes: make(chan *Hook, 1),
		pages: make(chan dibs.EventPage, 1), results: make(chan result, s.cfg.Concurrency),
	}
}

// run delivers until the context ends or the hook is lost or disabled.
func (r *runner) run(ctx context.Context) error {
	if err := r.takeOver(ctx); err != nil {
		return err
	}
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.send(sending, time.Now())
		r.read(reading)
		timer.Reset(r.untilNext(time.Now()))
		var err error
		select {
		case <-ctx.Done():
			return r.drain(ctx, stopSending)
		case hook := <-r.changes:
			r.setHook(hook)
		case page := <-r.pages:
			r.enqueue(page)
		case res := <-r.results:
			r.sending--
			err = r.finish(ctx, res)
		case <-timer.C:
		}
		if err == nil && r.saveDue(time.Now()) {
			err = r.save(ctx)
		}
		if errors.Is(err, errStopped) {
			return errors.Join(err, r.drain(ctx, stopSending))
		}
		if err != nil {
			r.cfg.Logger.Warn("the state of a webhook's deliveries was not saved; some may be sent again", "webhook", r.id, "error", err)
			r.savedAt = time.Now() // wait before the next try
		}
	}
}

// takeOver loads the state and saves it as this process's own, so that an earlier process can
// no longer save.
func (r *runner) takeOver(ctx context.Context) error {
	r.state = stateDocOf(r.id)
	if _, err := load(ctx, r.cfg.Store, r.state); err != nil {
		return err
	}
	if !r.state.exists() {
		return errStopped
	}
	for _, w := range r.state.content.Waiting {
		event, err := eventAt(ctx, r.cfg.Store, w.After, w.Cursor)
		if err != nil {
			return err
		}
		if event == nil {
			continue // purged from the feed
		}
		it := r.queue.add(event, w.After)
		it.attempts, it.first, it.next = w.Attempts, w.First.Time(), w.Next.Time()
	}
	// The events behind those, up to the cursor, were delivered: they must not be read again.
	r.queue.done, r.queue.head = r.queue.last, r.state.content.Cursor
	r.setHook(r.hook)
	return r.save(ctx)
}

// setHook applies a changed hook. It drops the events that the hook no longer wants, and
// retries failed ones if a caller asked for it.
func (r *runner) setHook(hook *Hook) {
	r.hook = hook
	for _, it := range slices.Clone(r.queue.items) {
		if !it.sending && !hook.wants(it.event) {
			r.queue.remove(it)
			r.moved = true
		}
	}
	if c := &r.state.content; hook.RetryAt > c.RetryAt {
		c.RetryAt, c.Failures, c.PausedUntil = hook.RetryAt, 0, 0
		r.queue.retryNow()
		r.retriedAt, r.moved = time.Now(), true
	}
}

// read starts to read more of the feed if the queue has room. After an error it pauses, and then
// yields an empty page.
func (r *runner) read(ctx context.Context) {
	enough := 2 * r.cfg.Concurrency
	room := r.cfg.limits.queued - len(r.queue.items)
	if r.down() {
		room = min(room, probes-len(r.queue.items)) // the others can wait in the feed
	}
	if r.reading || room <= 0 || len(r.queue.due(time.Now(), enough)) >= enough {
		return
	}
	r.reading = true
	query := dibs.FeedQuery{After: r.queue.head, Limit: min(room, pageSize)}
	go func() {
		page, err := r.cfg.Registry.AwaitEvents(ctx, query)
		if err != nil {
			page = dibs.EventPage{Next: query.After}
			if ctx.Err() == nil {
				r.cfg.Logger.Warn("the feed could not be read for a webhook", "webhook", r.id, "error", err)
				_ = backoff.Sleep(ctx, r.cfg.limits.poll) // an end of the context is noticed elsewhere
			}
		}
		r.pages <- page
	}()
}

// enqueue adds the events of a page to the queue.
func (r *runner) enqueue(page dibs.EventPage) {
	r.reading = false
	after := r.queue.head
	for i := range page.Events {
		e := &page.Events[i]
		if r.hook.wants(e) {
			r.queue.add(e, after)
		}
		after = e.Cursor
	}
	r.queue.head, r.moved = page.Next, true
	r.observe()
}

// down reports whether the receiver counts as down.
func (r *runner) down() bool { return r.state.content.Failures >= failuresUntilDown }

// send starts the deliveries that are due. None starts that could outlast the lease: events
// stay in order because no two processes send at once.
func (r *runner) send(ctx context.Context, now time.Time) {
	if r.lease.left() < r.cfg.Timeout || r.state.content.PausedUntil.Time().After(now) {
		return
	}
	due := r.queue.due(now, r.cfg.Concurrency-r.sending)
	if r.down() {
		due = nil
		if it := r.queue.probe(); it != nil && r.sending == 0 {
			due = []*item{it}
		}
	}
	for _, it := range due {
		it.sending = true
		r.sending++
		hook, waited := r.hook, it.attempts > 0 || now.Sub(it.read) > r.cfg.limits.poll
		go func() { r.results <- r.deliver(ctx, hook, it, waited) }()
	}
}

// deliver sends an event once. It first reads an event again that has waited: forgotten values
// must not be sent.
func (r *runner) deliver(ctx context.Context, hook *Hook, it *item, waited bool) result {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout) // for both: the lease may last no longer
	defer cancel()
	res := result{item: it, event: it.event}
	if waited {
		if res.event, res.err = eventAt(ctx, r.cfg.Store, it.after, it.event.Cursor); res.err != nil || res.event == nil {
			return res
		}
	}
	res.attempt = r.sender.send(ctx, hook, messageOf(hook.ID, r.cfg.Source, res.event))
	return res
}

// untilNext returns how long run can wait for something to happen.
func (r *runner) untilNext(now time.Time) time.Duration {
	wait := r.cfg.limits.poll
	if r.unsaved > 0 {
		wait = min(wait, r.savedAt.Add(r.cfg.limits.save).Sub(now))
	}
	if paused := r.state.content.PausedUntil.Time(); paused.After(now) {
		return max(min(wait, paused.Sub(now)), 0)
	}
	if next, ok := r.queue.nextDue(now); ok {
		wait = min(wait, next.Sub(now))
	}
	return max(wait, time.Millisecond)
}

func (r *runner) observe() {
	r.cfg.Observer.Backlog(r.id, len(r.queue.items), r.queue.oldest().Time())
}
