package webhook

import (
	"context"
	"errors"
	"math/rand/v2"
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

	// For the dispatcher.
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
		it.passed = true // by those up to the cursor, which must not be read again
	}
	r.queue.head = r.state.content.Cursor
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
	res.attempt = r.attempt(ctx, hook, messageOf(hook.ID, r.cfg.Source, res.event))
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

func (r *runner) finish(ctx context.Context, res result) error {
	it, a := res.item, res.attempt
	it.sending = false
	defer r.observe()
	switch {
	case res.err != nil: // nothing was sent
		r.cfg.Logger.Warn("a waiting event of a webhook could not be read again", "webhook", r.id, "error", res.err)
		c := &r.state.content
		c.PausedUntil = max(c.PausedUntil, dibs.InstantOf(time.Now().Add(r.cfg.limits.poll)))
		return nil
	case res.event == nil: // purged from the feed
		r.queue.remove(it)
		r.moved = true
		return nil
	}
	it.event = res.event
	r.cfg.Observer.Sent(r.id, a)
	r.unsaved++
	if a.Delivered() {
		r.accepted(it, a)
		return nil
	}
	r.failed(it, a)
	switch {
	case !r.hook.wants(it.event): // any more
		r.queue.remove(it)
	case r.outdated(a): // retried at once: the receiver may be another one
	case a.gone():
		return r.disable(ctx)
	case a.ended().Sub(it.first) >= r.cfg.GiveUpAfter:
		return r.giveUp(ctx, it, a)
	}
	return nil
}

func (r *runner) accepted(it *item, a Attempt) {
	c := &r.state.content
	r.queue.remove(it)
	if r.down() {
		r.cfg.Logger.Info("the receiver of a webhook works again", "webhook", r.id)
		r.queue.retryNow()
	}
	c.Delivered++
	c.Failures, c.PausedUntil = 0, 0
	c.LastSuccess = dibs.InstantOf(a.ended())
}

// failed schedules the next attempt: of this event, and if the receiver is down, of any event.
func (r *runner) failed(it *item, a Attempt) {
	c := &r.state.content
	now := a.ended()
	if it.attempts++; it.first.IsZero() {
		it.first = a.At
	}
	c.Failed++
	if r.outdated(a) {
		return
	}
	it.next = now.Add(pauseAfter(r.cfg.Pauses, it.attempts))
	// While the receiver is down, attempts that were in flight together count as one failure.
	if !r.down() || dibs.InstantOf(a.At) >= c.LastFailure {
		c.Failures++
	}
	c.LastFailure, c.LastError = dibs.InstantOf(now), a.Error
	if r.down() {
		c.PausedUntil = dibs.InstantOf(now.Add(pauseAfter(r.cfg.Pauses, c.Failures-failuresUntilDown+1)))
	}
	if a.retryAfter > 0 {
		c.PausedUntil = max(c.PausedUntil, dibs.InstantOf(now.Add(a.retryAfter)))
	}
	if c.Failures == failuresUntilDown {
		r.cfg.Logger.Warn("the receiver of a webhook fails; it is retried from time to time, and events wait in the feed", "webhook", r.id, "error", a.Error)
	}
}

// pauseAfter returns how long to wait after a number of failures. A random fifth more or less
// than in the list spreads the retries of deliveries that failed together.
func pauseAfter(pauses []time.Duration, failures int) time.Duration {
	pause := pauses[min(max(failures, 1), len(pauses))-1]
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

// outdated reports whether an attempt began before a caller last asked for a retry. Its failure
// does not count then: the receiver may have changed since.
func (r *runner) outdated(a Attempt) bool { return a.At.Before(r.retriedAt) }

// disable disables the hook, because the receiver is gone for good. The event stays, for the
// time when the hook is enabled again.
func (r *runner) disable(ctx context.Context) error {
	const why = "the receiver answered 410 Gone"
	r.cfg.Logger.Warn("a webhook was disabled: "+why, "webhook", r.id)
	moved := false
	_, err := r.Change(ctx, r.id, func(hook *Hook) error {
		if moved = hook.URL != r.hook.URL; !moved { // the former receiver is gone, not the present one
			hook.Enabled, hook.Stopped = false, why
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err // the next 410 tries again
	case moved:
		return nil
	}
	return errStopped
}

// giveUp makes an event a dead letter, so that the others of its name can be sent.
func (r *runner) giveUp(ctx context.Context, it *item, a Attempt) error {
	at := r.queue.remove(it)
	count := deadLetterCountOf(r.id)
	err := r.commitState(ctx, func(c *change) error { return r.addDeadLetter(ctx, c, count, it, a) }, count)
	if err != nil {
		r.queue.items = slices.Insert(r.queue.items, at, it) // it is sent once more, and then given up
		return err
	}
	r.cfg.Logger.Warn("an event became a dead letter", "webhook", r.id, "attempts", it.attempts, "error", a.Error)
	r.cfg.Observer.GaveUp(r.id)
	return nil
}

func (r *runner) saveDue(now time.Time) bool {
	since := now.Sub(r.savedAt)
	switch {
	case r.unsaved >= saveAfter:
		return true
	case r.unsaved > 0:
		return since >= r.cfg.limits.save
	default: // only events that the hook does not want were read
		return r.moved && since >= 10*r.cfg.limits.save
	}
}

func (r *runner) save(ctx context.Context) error {
	return r.commitState(ctx, func(*change) error { return nil })
}

// commitState commits the state together with other changes, for which it loads other docs. It
// returns errStopped if another process has saved the state.
func (r *runner) commitState(ctx context.Context, more func(c *change) error, docs ...anyDoc) error {
	c := &r.state.content
	c.Owner = r.lease.owner
	c.Cursor, c.Waiting = r.queue.position()
	c.Oldest = r.queue.oldest()
	stored := stateDocOf(r.id)
	err := update(ctx, r.cfg.Store, append(docs, stored), func(c *change, _ dibs.Instant) error {
		if stored.rev != r.state.rev {
			return errStopped
		}
		c.save(r.state)
		return more(c)
	})
	if err != nil {
		return err
	}
	r.state.rev++
	r.unsaved, r.moved, r.savedAt = 0, false, time.Now()
	return nil
}

// drain waits a short time for the deliveries in flight, and saves. The next process sends
// again what has no answer by then.
func (r *runner) drain(ctx context.Context, stopSending context.CancelFunc) error {
	timer := time.AfterFunc(shutdownGrace, stopSending)
	defer timer.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*shutdownGrace)
	defer cancel()
	for ; r.sending > 0; r.sending-- {
		res := <-r.results
		res.item.sending = false
		if res.err == nil && res.event != nil && res.attempt.Delivered() {
			r.accepted(res.item, res.attempt)
			r.cfg.Observer.Sent(r.id, res.attempt)
		}
	}
	r.cfg.Observer.Stopped(r.id)
	if err := r.save(ctx); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}
