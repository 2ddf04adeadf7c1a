package webhook

import (
	"context"
	"errors"
	"time"
)

// Courier delivers for all webhooks of a registry, whenever this process has the lease.
// Make one with [NewCourier].
type Courier struct {
	*Service
	lease   *lease
	running map[string]*running
	ended   chan *running   // those whose runner is over
	known   map[string]bool // the webhooks that there were at the last look
}

// running is a runner at work.
type running struct {
	hook   *Hook
	runner *runner
	cancel context.CancelFunc
	done   chan struct{}
}

// NewCourier returns a Courier for the webhooks of a service.
func NewCourier(s *Service) *Courier {
	return &Courier{
		Service: s, lease: newLease(s.cfg.Store, s.cfg.limits.lease, s.cfg.Timeout),
		running: make(map[string]*running), ended: make(chan *running),
	}
}

// Run delivers until the context ends. Deliveries under way get two more seconds.
func (c *Courier) Run(ctx context.Context) {
	defer c.leave(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.rung:
		case r := <-c.ended:
			r.cancel()                       // nobody else does
			if c.running[r.runner.id] == r { // begun again, if at all, when it is time to look
				delete(c.running, r.runner.id)
			}
			continue
		case <-timer.C:
		}
		timer.Reset(c.cfg.limits.poll)
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			c.cfg.Logger.Warn("webhooks could not be looked at", "error", err)
		}
	}
}

// look finds out which webhooks there are, and whether it is for this process to deliver.
func (c *Courier) look(ctx context.Context) error {
	hooks, err := c.List(ctx)
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
	held := false
	if len(enabled) > 0 {
		held, err = c.lease.hold(ctx)
	} else {
		err = c.lease.release(ctx)
	}
	if !held {
		clear(enabled)
	}
	c.endAll(func(id string) bool { return enabled[id] == nil })
	for id := range c.known {
		if !known[id] {
			c.cfg.Observer.Removed(id)
		}
	}
	c.known = known
	for id, hook := range enabled {
		c.begin(ctx, id, hook)
	}
	return err
}

// begin starts to deliver for a hook, or tells its runner what the hook is now.
func (c *Courier) begin(ctx context.Context, id string, hook *Hook) {
	r := c.running[id]
	if r == nil {
		ctx, cancel := context.WithCancel(ctx)
		r = &running{hook, newRunner(c.Service, c.lease, hook), cancel, make(chan struct{})}
		c.running[id] = r
		go c.keep(ctx, r)
		return
	}
	if r.hook.rev != hook.rev {
		r.hook = hook
		select {
		case <-r.runner.changes: // one that it has not seen yet
		default:
		}
		r.runner.changes <- hook
	}
}

// keep runs a runner, and tells when it is over.
func (c *Courier) keep(ctx context.Context, r *running) {
	err := r.runner.run(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errLost) && !errors.Is(err, errStopped) {
		c.cfg.Logger.Warn("deliveries of a webhook ended, and begin again", "webhook", r.runner.id, "error", err)
	}
	close(r.done)
	select {
	case c.ended <- r:
	case <-ctx.Done(): // whoever ended it knows
	}
}

// endAll ends some runners, all at once, and waits until they are over.
func (c *Courier) endAll(which func(id string) bool) {
	var ending []*running
	for id, r := range c.running {
		if which(id) {
			r.cancel()
			ending = append(ending, r)
		}
	}
	for _, r := range ending {
		<-r.done
		delete(c.running, r.runner.id)
	}
}

// leave ends all runners, and lets another process deliver at once.
func (c *Courier) leave(ctx context.Context) {
	c.endAll(func(string) bool { return true })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := c.lease.release(ctx); err != nil {
		c.cfg.Logger.Warn("the lease of webhooks was not given back; others wait until it is over", "error", err)
	}
}
