package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

// settle takes note of what became of a delivery.
func (r *runner) settle(ctx context.Context, res result) error {
	it, a := res.item, res.attempt
	it.sending = false
	defer r.observe()
	switch {
	case res.err != nil: // the receiver has no part in it
		r.cfg.Logger.Warn("an event that waits could not be read again for a webhook", "webhook", r.id, "error", res.err)
		c := &r.state.content
		c.PausedUntil = max(c.PausedUntil, dibs.InstantOf(time.Now().Add(r.cfg.limits.poll)))
		return nil
	case res.event == nil: // its history is over
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
	r.refused(it, a)
	ended := a.At.Add(a.Took)
	switch {
	case !r.hook.wants(it.event): // any more
		r.queue.remove(it)
	case r.outdated(a): // it is sent once more, to a receiver that may be another one
	case a.gone():
		return r.stop(ctx)
	case ended.Sub(it.first) >= r.cfg.GiveUpAfter:
		return r.bury(ctx, it, a)
	}
	return nil
}

func (r *runner) accepted(it *item, a Attempt) {
	c := &r.state.content
	r.queue.remove(it)
	if r.down() {
		r.cfg.Logger.Info("the receiver of a webhook is back", "webhook", r.id)
		r.queue.hurry()
	}
	c.Delivered++
	c.Failures, c.PausedUntil = 0, 0
	c.LastSuccess = dibs.InstantOf(a.At.Add(a.Took))
}

// refused decides when to try again: this event, and where the receiver fails
// altogether, any event.
func (r *runner) refused(it *item, a Attempt) {
	c := &r.state.content
	now := a.At.Add(a.Took)
	if it.attempts++; it.first.IsZero() {
		it.first = a.At
	}
	c.Failed++
	if r.outdated(a) {
		return
	}
	it.next = now.Add(pauseAfter(r.cfg.Pauses, it.attempts))
	// Several that were under way when the receiver went down are one sign of it.
	if c.Failures < troubled || dibs.InstantOf(a.At) >= c.LastFailure {
		c.Failures++
	}
	c.LastFailure, c.LastError = dibs.InstantOf(now), a.Error
	if r.down() {
		c.PausedUntil = dibs.InstantOf(now.Add(pauseAfter(r.cfg.Pauses, c.Failures-troubled+1)))
	}
	if a.retryAfter > 0 {
		c.PausedUntil = max(c.PausedUntil, dibs.InstantOf(now.Add(a.retryAfter)))
	}
	if c.Failures == troubled {
		r.cfg.Logger.Warn("the receiver of a webhook fails; it is tried from time to time, and events wait in the feed", "webhook", r.id, "error", a.Error)
	}
}

// outdated reports whether an attempt began before somebody saw to the receiver, and so
// says nothing about it.
func (r *runner) outdated(a Attempt) bool { return a.At.Before(r.nudgedAt) }

// stop disables the hook, because the receiver said that it is gone for good. The event
// stays: whoever enables the hook again goes on with it.
func (r *runner) stop(ctx context.Context) error {
	const why = "the receiver answered 410 Gone"
	r.cfg.Logger.Warn("a webhook was disabled: "+why, "webhook", r.id)
	_, err := r.Change(ctx, r.id, func(hook *Hook) error {
		if hook.URL != r.hook.URL {
			return errMoved
		}
		hook.Enabled, hook.Stopped = false, why
		return nil
	})
	if errors.Is(err, errMoved) { // it is not the receiver of today who is gone
		return nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err // and once more after the next answer like this one
	}
	return errStopped
}

// bury makes a dead letter of an event, so that the others of its name can go on.
func (r *runner) bury(ctx context.Context, it *item, a Attempt) error {
	r.queue.remove(it)
	err := r.commitState(ctx, func() (dibs.Group, error) { return r.burial(ctx, r.id, it, a) })
	if err != nil {
		// Sent once more, and then buried.
		r.queue.restore(it)
		return err
	}
	r.cfg.Logger.Warn("an event became a dead letter", "webhook", r.id, "attempts", it.attempts, "error", a.Error)
	r.cfg.Observer.Buried(r.id)
	return nil
}

// saveDue reports whether it is time to save.
func (r *runner) saveDue(now time.Time) bool {
	since := now.Sub(r.savedAt)
	switch {
	case r.unsaved >= saveAfter:
		return true
	case r.unsaved > 0:
		return since >= r.cfg.limits.save
	default: // events that nobody wants went by
		return r.moved && since >= 10*r.cfg.limits.save
	}
}

// save saves how far deliveries are.
func (r *runner) save(ctx context.Context) error {
	return r.commitState(ctx, func() (dibs.Group, error) { return dibs.Group{}, nil })
}

// commitState commits the state together with other changes, which are made anew where
// somebody else was faster with those. It is errLost if the state is no longer ours.
func (r *runner) commitState(ctx context.Context, others func() (dibs.Group, error)) error {
	c := &r.state.content
	c.Owner = r.lease.owner
	c.Cursor, c.Waiting = r.queue.position()
	c.Oldest = r.queue.oldest()
	err := insist(ctx, r.cfg.Store, func() (dibs.Group, error) {
		now := stateAt(r.id)
		if _, err := load(ctx, r.cfg.Store, now); err != nil {
			return dibs.Group{}, err
		}
		if now.rev != r.state.rev {
			return dibs.Group{}, errLost
		}
		group, err := others()
		if err != nil {
			return dibs.Group{}, err
		}
		write, err := r.state.write()
		group.Reads, group.Writes = append(group.Reads, r.state.read()), append(group.Writes, write)
		return group, err
	})
	if err != nil {
		return err
	}
	r.state.rev++
	r.unsaved, r.moved, r.savedAt = 0, false, time.Now()
	return nil
}

// finish waits for what is being sent, for a moment, and saves. What has no answer by
// then is sent again by whoever comes next.
func (r *runner) finish(ctx context.Context, cut context.CancelFunc) error {
	timer := time.AfterFunc(farewell, cut)
	defer timer.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*farewell)
	defer cancel()
	for ; r.sending > 0; r.sending-- {
		res := <-r.results
		if res.item.sending = false; res.delivered() {
			r.accepted(res.item, res.attempt)
			r.cfg.Observer.Sent(r.id, res.attempt)
		}
	}
	r.cfg.Observer.Left(r.id)
	if err := r.save(ctx); !errors.Is(err, errLost) {
		return err
	}
	return nil
}
