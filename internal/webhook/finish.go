package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

// finish handles the result of a delivery.
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
	r.queue.remove(it)
	count := deadLetterCountOf(r.id)
	err := r.commitState(ctx, func(c *change) error { return r.addDeadLetter(ctx, c, count, it, a) }, count)
	if err != nil {
		r.queue.restore(it) // it is sent once more, and then given up
		return err
	}
	r.cfg.Logger.Warn("an event became a dead letter", "webhook", r.id, "attempts", it.attempts, "error", a.Error)
	r.cfg.Observer.GaveUp(r.id)
	return nil
}

// saveDue reports whether the state has to be saved.
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

// save saves the state.
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
