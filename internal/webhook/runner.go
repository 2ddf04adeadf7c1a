package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// troubled is after how many failures in a row the receiver as a whole is taken to be
	// down. It is then tried with one event at a time, and others wait in the feed.
	troubled = 5
	// probes is how many events a receiver that is down is tried with in turn.
	probes = 5
	// farewell is how long deliveries under way may take when the process ends.
	farewell = 2 * time.Second
	// readAtOnce is how many events are read from the feed at once.
	readAtOnce = 100
	// saveAfter is after how many deliveries the state is saved at the latest.
	saveAfter = 100
)

// errLost is why a runner stops: another process delivers for the hook, or the hook is
// gone.
var errLost = errors.New("webhook: another process delivers, or the webhook was removed")

// errStopped is why a runner stops: the receiver wants no more.
var errStopped = errors.New("webhook: the receiver wants no more")

// errMoved is why a hook is not disabled: it has another receiver by now.
var errMoved = errors.New("webhook: it has another address by now")

// runner delivers for one hook. All of it is done by one goroutine, apart from reading
// and sending.
type runner struct {
	*Service
	id      string
	lease   *lease
	hook    *Hook
	changes chan *Hook // what the hook is now

	state *statePage // as it is now, with the revision that was last saved
	queue queue

	reading bool
	pages   chan feedRead
	sending int
	results chan result

	nudgedAt time.Time // when somebody last asked for failed deliveries to be tried at once

	unsaved int  // deliveries and failures that were not saved yet
	moved   bool // something was read since the state was saved
	savedAt time.Time
}

type feedRead struct {
	page dibs.EventPage
	err  error
}

type result struct {
	item    *item
	attempt Attempt
	event   *dibs.Event // as it was sent; nil where the feed no longer has it
	err     error       // why nothing was sent
}

// delivered reports whether the receiver has accepted the event.
func (r result) delivered() bool { return r.err == nil && r.event != nil && r.attempt.Delivered() }

func newRunner(s *Service, l *lease, hook *Hook) *runner {
	return &runner{
		Service: s, id: hook.ID, lease: l, hook: hook, changes: make(chan *Hook, 1),
		pages: make(chan feedRead, 1), results: make(chan result, s.cfg.Concurrency),
	}
}

// run delivers until the context ends or the hook is somebody else's.
func (r *runner) run(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.send(sending, time.Now())
		r.read(reading)
		timer.Reset(r.nap(time.Now()))
		var err error
		select {
		case <-ctx.Done():
			return r.finish(ctx, cut)
		case hook := <-r.changes:
			r.adopt(hook)
		case read := <-r.pages:
			r.accept(read)
		case res := <-r.results:
			r.sending--
			err = r.settle(ctx, res)
		case <-timer.C:
		}
		if err == nil && r.saveDue(time.Now()) {
			err = r.save(ctx)
		}
		if errors.Is(err, errLost) || errors.Is(err, errStopped) {
			return errors.Join(err, r.finish(ctx, cut))
		}
		if err != nil {
			r.cfg.Logger.Warn("the state of a webhook's deliveries was not saved; some may be sent again", "webhook", r.id, "error", err)
			r.savedAt = time.Now() // not again at once
		}
	}
}

// take loads how far deliveries are, and makes the state this process's own: whoever had
// it before can no longer save.
func (r *runner) take(ctx context.Context) error {
	r.state = stateAt(r.id)
	if _, err := load(ctx, r.cfg.Store, r.state); err != nil {
		return err
	}
	if !r.state.there() {
		return errLost
	}
	for _, w := range r.state.content.Waiting {
		event, err := eventAt(ctx, r.cfg.Store, w.After, w.Cursor)
		if err != nil {
			return err
		}
		if event == nil {
			continue // its history is over
		}
		it := r.queue.add(event, w.After)
		it.attempts, it.first, it.next = w.Attempts, w.First.Time(), w.Next.Time()
	}
	// What stands behind those was delivered: it must not be read again.
	r.queue.done, r.queue.head = r.queue.last, r.state.content.Cursor
	r.adopt(r.hook)
	return r.save(ctx)
}

// adopt takes a hook as it is now. What it no longer wants is not sent, and where
// somebody asks for it, what failed is tried at once.
func (r *runner) adopt(hook *Hook) {
	r.hook = hook
	for _, it := range append([]*item{}, r.queue.items...) {
		if !it.sending && !hook.wants(it.event) {
			r.queue.remove(it)
			r.moved = true
		}
	}
	if hook.nudged > r.state.content.Nudged {
		c := &r.state.content
		c.Nudged, c.Failures, c.PausedUntil = hook.nudged, 0, 0
		r.queue.hurry()
		r.nudgedAt, r.moved = time.Now(), true
	}
}

// read asks for more of the feed if there is room for it.
func (r *runner) read(ctx context.Context) {
	few := 2 * r.cfg.Concurrency
	room := r.cfg.limits.waiting - len(r.queue.items)
	switch {
	case r.reading || room <= 0:
		return
	case r.down() && len(r.queue.items) >= probes: // it can wait where it is
		return
	case len(r.queue.due(time.Now(), few)) >= few:
		return
	}
	r.reading = true
	if r.down() {
		room = probes - len(r.queue.items)
	}
	query := dibs.FeedQuery{After: r.queue.head, Limit: min(room, readAtOnce)}
	go func() {
		page, err := r.cfg.Registry.AwaitEvents(ctx, query)
		r.pages <- feedRead{page, err}
	}()
}

// accept takes events that were read.
func (r *runner) accept(read feedRead) {
	r.reading = false
	if read.err != nil {
		if !errors.Is(read.err, context.Canceled) {
			r.cfg.Logger.Warn("the feed could not be read for a webhook", "webhook", r.id, "error", read.err)
			r.rest()
		}
		return
	}
	after := r.queue.head
	for i := range read.page.Events {
		e := &read.page.Events[i]
		if r.hook.wants(e) {
			r.queue.add(e, after)
		}
		after = e.Cursor
	}
	r.queue.head, r.moved = read.page.Next, true
	r.observe()
}

// rest keeps the runner from reading for a moment.
func (r *runner) rest() {
	r.reading = true
	nothing := feedRead{page: dibs.EventPage{Next: r.queue.head}}
	time.AfterFunc(r.cfg.limits.poll, func() { r.pages <- nothing })
}

// down reports whether the receiver as a whole is taken to be down.
func (r *runner) down() bool { return r.state.content.Failures >= troubled }

// send starts what may be sent now. No delivery begins that could outlast the lease:
// that no two processes send at once is what keeps events in order.
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

// deliver sends an event once. One that has waited is read again: it may have been forgotten
// meanwhile, and what is forgotten must not be sent.
func (r *runner) deliver(ctx context.Context, hook *Hook, it *item, waited bool) result {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout) // for both together: the lease is good for no longer
	defer cancel()
	res := result{item: it, event: it.event}
	if waited {
		if res.event, res.err = eventAt(ctx, r.cfg.Store, it.after, it.event.Cursor); res.err != nil || res.event == nil {
			return res
		}
	}
	m, err := messageOf(hook.ID, r.cfg.Source, res.event)
	if err != nil {
		res.attempt = Attempt{At: time.Now(), Error: "the event cannot be written as JSON"}
		return res
	}
	res.attempt = r.sender.send(ctx, hook, m)
	return res
}

// nap returns for how long there is nothing to do unless something happens.
func (r *runner) nap(now time.Time) time.Duration {
	nap := r.cfg.limits.poll
	if r.unsaved > 0 {
		nap = min(nap, r.savedAt.Add(r.cfg.limits.save).Sub(now))
	}
	if paused := r.state.content.PausedUntil.Time(); paused.After(now) {
		return max(min(nap, paused.Sub(now)), 0)
	}
	if next, some := r.queue.nextDue(now); some {
		nap = min(nap, next.Sub(now))
	}
	return max(nap, time.Millisecond)
}

func (r *runner) observe() {
	r.cfg.Observer.Standing(r.id, len(r.queue.items), r.queue.oldest().Time())
}
