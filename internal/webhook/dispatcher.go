package webhook

import (
	"context"
	"errors"
	"time"
)

// Dispatcher delivers for all webhooks of a registry while this process has the lease.
// Make one with [NewDispatcher].
type Dispatcher struct {
	*Service
	lease *lease
	tasks map[string]*task
	ended chan *task      // tasks whose runner has returned
	known map[string]bool // the webhooks found by the last poll
}

// task is a runner with its goroutine.
type task struct {
	hook   *Hook
	runner *runner
	cancel context.CancelFunc
	done   chan struct{}
}

// NewDispatcher returns a Dispatcher for the webhooks of a service.
func NewDispatcher(s *Service) *Dispatcher {
	return &Dispatcher{
		Service: s, lease: newLease(s.cfg.Store, s.cfg.limits.lease, s.cfg.Timeout),
		tasks: make(map[string]*task), ended: make(chan *task),
	}
}

// Run delivers until the context ends. Deliveries in flight get two more seconds.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.shutDown(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		case t := <-d.ended:
			t.cancel()
			if d.tasks[t.runner.id] == t { // the next poll may start it again
				delete(d.tasks, t.runner.id)
			}
			continue
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
func (d *Dispatcher) poll(ctx context.Context) error {
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
	d.stop(func(id string) bool { return enabled[id] == nil })
	for id := range d.known {
		if !known[id] {
			d.cfg.Observer.Removed(id)
		}
	}
	d.known = known
	for id, hook := range enabled {
		d.start(ctx, id, hook)
	}
	return err
}

// start starts a runner for a hook. If there is one, start passes it the changed hook.
func (d *Dispatcher) start(ctx context.Context, id string, hook *Hook) {
	t := d.tasks[id]
	if t == nil {
		ctx, cancel := context.WithCancel(ctx)
		t = &task{hook, newRunner(d.Service, d.lease, hook), cancel, make(chan struct{})}
		d.tasks[id] = t
		go d.run(ctx, t)
		return
	}
	if t.hook.rev != hook.rev {
		t.hook = hook
		select {
		case <-t.runner.changes: // an older change that it has not read yet
		default:
		}
		t.runner.changes <- hook
	}
}

// run runs the runner of a task, and reports its end.
func (d *Dispatcher) run(ctx context.Context, t *task) {
	err := t.runner.run(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errLost) && !errors.Is(err, errDisabled) {
		d.cfg.Logger.Warn("deliveries of a webhook stopped and will restart", "webhook", t.runner.id, "error", err)
	}
	close(t.done)
	select {
	case d.ended <- t:
	case <-ctx.Done(): // stop waits for done
	}
}

// stop stops the chosen runners, all at the same time, and waits for their ends.
func (d *Dispatcher) stop(chosen func(id string) bool) {
	var stopping []*task
	for id, t := range d.tasks {
		if chosen(id) {
			t.cancel()
			stopping = append(stopping, t)
		}
	}
	for _, t := range stopping {
		<-t.done
		delete(d.tasks, t.runner.id)
	}
}

// shutDown stops all runners and releases the lease, so that another process can deliver at
// once.
func (d *Dispatcher) shutDown(ctx context.Context) {
	d.stop(func(string) bool { return true })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := d.lease.release(ctx); err != nil {
		d.cfg.Logger.Warn("the lease of webhooks was not released; other processes wait until it expires", "error", err)
	}
}
