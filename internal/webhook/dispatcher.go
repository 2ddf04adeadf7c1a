package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

// dispatcher delivers for all webhooks of a registry while this process has the lease.
type dispatcher struct {
	*Service
	lease   *lease
	runners map[string]*runner
	known   map[string]bool // the webhooks found by the last poll
}

// Deliver delivers for all webhooks until the context ends. Deliveries in flight get two more
// seconds.
func (s *Service) Deliver(ctx context.Context) {
	d := &dispatcher{Service: s, lease: newLease(s.cfg.Store, s.cfg.limits.lease, s.cfg.Timeout), runners: make(map[string]*runner)}
	defer d.shutDown(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		case <-timer.C:
		}
		timer.Reset(d.cfg.limits.poll)
		if err := d.poll(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Logger.Warn("webhooks could not be read", "error", err)
		}
	}
}

// poll reads the webhooks, takes or renews the lease, and starts and stops runners
// accordingly.
func (d *dispatcher) poll(ctx context.Context) error {
	hooks, err := d.List(ctx)
	if err != nil {
		return err
	}
	enabled, known := make(map[string]*Hook), make(map[string]bool)
	for _, hook := range hooks {
		known[hook.ID] = true
		if hook.Enabled {
			enabled[hook.ID] = hook
		}
	}
	leased := false
	if len(enabled) > 0 {
		leased, err = d.lease.hold(ctx)
	} else {
		err = d.lease.release(ctx)
	}
	if !leased {
		clear(enabled)
	}
	d.stop(func(r *runner) bool { return enabled[r.id] == nil || r.ended.Load() })
	for id := range d.known {
		if !known[id] {
			d.cfg.Observer.Removed(id)
		}
	}
	d.known = known
	for _, hook := range enabled {
		d.start(ctx, hook)
	}
	return err
}

// start starts a runner for a hook. If there is one, start passes it the changed hook.
func (d *dispatcher) start(ctx context.Context, hook *Hook) {
	r := d.runners[hook.ID]
	if r == nil {
		r = newRunner(d.Service, d.lease, hook)
		d.runners[hook.ID] = r
		ctx, r.cancel = context.WithCancel(ctx)
		r.goroutine.Go(func() { d.run(ctx, r) })
		return
	}
	if r.passed != hook.rev {
		r.passed = hook.rev
		select {
		case <-r.changes: // an older change that it has not read yet
		default:
		}
		r.changes <- hook
	}
}

// run runs a runner. If it ends by itself, the next poll may start another one.
func (d *dispatcher) run(ctx context.Context, r *runner) {
	if err := r.run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errStopped) {
		d.cfg.Logger.Warn("deliveries of a webhook stopped and will restart", "webhook", r.id, "error", err)
	}
	r.ended.Store(true)
}

// stop stops the chosen runners, all at the same time, and waits for their ends.
func (d *dispatcher) stop(chosen func(*runner) bool) {
	var stopping []*runner
	for _, r := range d.runners {
		if chosen(r) {
			r.cancel()
			stopping = append(stopping, r)
		}
	}
	for _, r := range stopping {
		r.goroutine.Wait()
		delete(d.runners, r.id)
	}
}

// shutDown stops all runners and releases the lease, so that another process can deliver at
// once.
func (d *dispatcher) shutDown(ctx context.Context) {
	d.stop(func(*runner) bool { return true })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := d.lease.release(ctx); err != nil {
		d.cfg.Logger.Warn("the lease of webhooks was not released; other processes wait until it expires", "error", err)
	}
}

type leaseContent struct {
	Owner string       `json:"owner,omitempty"` // the process that delivers
	Until dibs.Instant `json:"until,omitzero"`  // by the engine's clock
}

func newLeaseDoc() *doc[leaseContent] {
	return &doc[leaseContent]{kind: kindLease, label: "deliveries"}
}

// lease is the right to deliver, which one process has at a time. Its method left is safe for
// concurrent use.
//
// It expires by the engine's clock. No process takes it earlier, and of those that try then
// one succeeds, because each replaces the revision that it read. The owner measures the time
// left by its own clock, from the moment before it asked: that is never too long.
type lease struct {
	store      dibs.Store
	owner      string
	length     time.Duration
	renewAfter time.Duration
	expiresAt  atomic.Pointer[time.Time] // by this process's clock; nil if it does not have the lease
}

// newLease returns a lease of a length. A delivery starts only if the lease lasts as long as the
// delivery may take, so the lease is renewed well before that.
func newLease(store dibs.Store, length, delivery time.Duration) *lease {
	return &lease{store: store, owner: rand.Text(), length: length, renewAfter: (length - delivery) / 3}
}

// left returns how long the lease lasts; zero if this process does not have it.
func (l *lease) left() time.Duration {
	expiresAt := l.expiresAt.Load()
	if expiresAt == nil {
		return 0
	}
	return max(time.Until(*expiresAt), 0)
}

// hold takes the lease, or renews it when that is due, and reports whether this process has
// it. Despite an error the process may still have it.
func (l *lease) hold(ctx context.Context) (bool, error) {
	if l.length-l.left() < l.renewAfter {
		return true, nil
	}
	d, expiresAt := newLeaseDoc(), new(time.Now().Add(l.length))
	err := update(ctx, l.store, []anyDoc{d}, func(c *change, now dibs.Instant) error {
		if d.content.Owner != l.owner && d.content.Until > now {
			expiresAt = nil
			return nil
		}
		d.content = leaseContent{Owner: l.owner, Until: now.Add(l.length)}
		c.save(d)
		return nil
	})
	if err == nil {
		l.expiresAt.Store(expiresAt)
	}
	return l.left() > 0, err
}

// release lets another process take the lease at once.
func (l *lease) release(ctx context.Context) error {
	if l.left() == 0 {
		return nil
	}
	l.expiresAt.Store(nil)
	d := newLeaseDoc()
	return update(ctx, l.store, []anyDoc{d}, func(c *change, _ dibs.Instant) error {
		if d.content.Owner == l.owner {
			d.content = leaseContent{}
			c.save(d)
		}
		return nil
	})
}
