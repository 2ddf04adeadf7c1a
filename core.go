package dibs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxCommands is how many commands one Apply may have.
const maxCommands = 32

// core is the embedded backend: rules and writer over an engine.
type core struct {
	cfg      Config
	policies *atomic.Pointer[policies] // shared with those bound to a transaction
	store    Store
	ends     *ends
	submit   func(ctx context.Context, r *request) *Error

	conflicts *conflictCounts
	flight    *flight // suggestions under way
	bell      *bell   // rings when something was committed here
	writer    *writer // nil inside a transaction of the caller's, as the reader
	reader    *reader
	failures  failures
	stop      func() // ends the background work
	stopped   sync.WaitGroup
}

var _ Backend = (*core)(nil)

// Open returns a Registry over an engine. The Registry owns the store from then
// on, and closes it.
func Open(store Store, cfg Config) (*Registry, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	set, err := newPolicies(cfg.Policies, cfg.Default)
	if err != nil {
		return nil, err
	}
	shared := new(atomic.Pointer[policies])
	shared.Store(set)
	if whole, ok := store.(Partitioned); ok && len(whole.Parts()) > 1 {
		return NewRegistry(observe(openRouted(whole, cfg, shared), cfg.Observer)), nil
	}
	return NewRegistry(observe(openCore(store, cfg.withDefaults(store), shared, newBell()), cfg.Observer)), nil
}

// openCore begins to work on an engine.
func openCore(store Store, cfg Config, shared *atomic.Pointer[policies], bell *bell) *core {
	store = observeStore(store, cfg.Observer)
	c := &core{
		cfg: cfg, policies: shared, store: store, ends: newEnds(store),
		conflicts: &conflictCounts{}, flight: newFlight(), bell: bell,
	}
	c.writer, c.reader = newWriter(store, c.ends, cfg, c.batchDone), newReader(store, &c.cfg.Observer)
	c.submit = c.writer.submit
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.stopped.Go(func() { c.keepHouse(ctx) })
	if cfg.SweepEvery > 0 {
		c.stopped.Go(func() { c.sweepOften(ctx, cfg.SweepEvery) })
	}
	return c
}

// embedded is a backend in this process: a core, or several of them.
type embedded interface {
	Backend
	policySet() *atomic.Pointer[policies]
	engine() Store // of all parts, where there are several
	inTransaction(bind func(Store) (Store, error)) (embedded, error)
	isBound() bool // to a transaction of the caller's
}

func (c *core) policySet() *atomic.Pointer[policies] { return c.policies }

func (c *core) engine() Store { return c.store }

func (c *core) isBound() bool { return c.writer == nil }

// SetPolicies replaces all policies of a Registry that [Open] made, at once: each
// command is decided by the old ones or by the new ones. Policies that are not valid
// change nothing. See [Config] for what the two are.
//
// Other rules for which names are the same take [Registry.Recanonicalize], before or after;
// [Registry.CheckPolicies] finds them.
func (r *Registry) SetPolicies(byNamespace map[string]Policy, fallback Policy) error {
	b, ok := r.backend.(embedded)
	if !ok {
		return fmt.Errorf("%w: the policies are the server's", ErrUnsupported)
	}
	set, err := newPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	b.policySet().Store(set)
	return nil
}

// Policy returns the policy that a Registry made by [Open] has for a namespace, with
// every default filled in.
func (r *Registry) Policy(namespace string) (Policy, error) {
	b, ok := r.backend.(embedded)
	if !ok {
		return Policy{}, fmt.Errorf("%w: the policies are the server's", ErrUnsupported)
	}
	space, err := b.policySet().Load().space(namespace)
	if err != nil {
		return Policy{}, err
	}
	return *space.policy, nil
}

// InTransaction is for engines: it returns a Registry that decides by the same
// rules and policies as r, but directly on the store that bind returns, which is
// bound to a transaction of the caller's own. Its commands become true when that
// transaction commits. bind is given the store that r works on; if it fails, or r
// works on a server, every verb of the new Registry returns the error.
//
// The new Registry must not be used by several goroutines at once, like the
// transaction itself. Closing it does nothing.
func (r *Registry) InTransaction(bind func(Store) (Store, error)) *Registry {
	b, ok := r.backend.(embedded)
	if !ok {
		return &Registry{backend: unsupported{errRemoteTx}, principal: r.principal}
	}
	bound, err := b.inTransaction(bind)
	if err != nil {
		return &Registry{backend: unsupported{err}, principal: r.principal}
	}
	return &Registry{backend: bound, principal: r.principal}
}

func (c *core) inTransaction(bind func(Store) (Store, error)) (embedded, error) {
	store, err := bindTo(unobserved(c.store), bind)
	if err != nil {
		return nil, err
	}
	store = observeStore(store, c.cfg.Observer)
	bound := &core{
		cfg: c.cfg, policies: c.policies, store: store, ends: newEnds(store),
		conflicts: c.conflicts, flight: newFlight(), bell: newBell(),
	}
	commit := &committer{store: store, ends: bound.ends}
	bound.submit = func(ctx context.Context, r *request) *Error {
		return bound.ends.untilSettled(ctx, r, func() *Error { return commit.processInTx(ctx, r) })
	}
	return bound, nil
}

// processInTx processes a request inside the transaction that the store is bound to.
func (c *committer) processInTx(ctx context.Context, r *request) *Error {
	var waiting txCaller
	r.caller = &waiting
	_, err := c.process(ctx, []*request{r})
	if errors.Is(err, errContended) {
		waiting.err.wrapped = ErrRetryTx
	}
	return waiting.err
}

// txCaller waits for a request inside its own transaction, where nobody is parked.
type txCaller struct{ err *Error }

func (c *txCaller) answer(err *Error) { c.err = err }

func (c *txCaller) busy() { c.err = Unavailable(errHeld) }

func (c *core) batchDone(info BatchInfo) {
	if info.Commits > 0 {
		c.bell.ring()
	}
	if info.Err != nil {
		if failed := c.failures.add(info.Err, info.Requests, time.Now()); failed > 0 {
			c.cfg.Logger.Error("dibs: the engine failed", "error", info.Err, "requests", failed)
		}
	}
	if c.cfg.Observer.Batch != nil {
		c.cfg.Observer.Batch(info)
	}
}

// Apply decides commands and commits them.
func (c *core) Apply(ctx context.Context, req ApplyRequest) ([]Result, error) {
	start := time.Now()
	results, err := c.apply(ctx, req)
	c.cfg.Observer.command(req, start, err)
	if err != nil {
		return nil, err
	}
	return results, nil
}

// command tells of an Apply.
func (o Observer) command(req ApplyRequest, start time.Time, err *Error) {
	if o.Command == nil {
		return
	}
	info := CommandInfo{Commands: req.Commands, DryRun: req.DryRun, Took: time.Since(start)}
	if err != nil {
		info.Err = err
	}
	o.Command(info)
}

func (c *core) apply(ctx context.Context, req ApplyRequest) ([]Result, *Error) {
	var now Instant
	r, err := c.prepare(req)
	if err == nil {
		err = c.submit(ctx, r)
		switch {
		case err == nil:
			return r.results, nil
		case err.Code == CodeUnavailable, err.Code == CodeOutcomeUnknown:
			return nil, err // nobody refused anything, and the writer may still have the request
		}
		now = r.now
	}
	if !req.DryRun {
		c.conflicts.note(err, now)
	}
	c.suggestFor(ctx, err)
	return nil, err
}

// prepare checks the commands, and names every one that is not well-formed.
func (c *core) prepare(req ApplyRequest) (*request, *Error) {
	if err := req.Principal.check(); err != nil {
		return nil, err
	}
	switch n := len(req.Commands); {
	case n == 0:
		return nil, &Error{Code: CodeInvalidValue, Message: "there is no command to apply"}
	case n > maxCommands:
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d commands in one Apply, more than the %d allowed", n, maxCommands)}
	}
	p := c.preparer(req.Principal)
	decisions := make([]decision, len(req.Commands))
	var failures []Failure
	for i, command := range req.Commands {
		err := &Error{Code: CodeInvalidValue, Message: "the command is nil"}
		if command != nil {
			decisions[i], err = command.prepare(p)
		}
		if err != nil {
			failures = append(failures, Failure{i, err})
		}
	}
	switch {
	case len(failures) == 0:
		return &request{
			decisions: decisions, wants: p.wants, fresh: p.fresh, actor: req.Principal.Name, dryRun: req.DryRun,
		}, nil
	case len(req.Commands) == 1:
		return nil, failures[0].Err
	default:
		return nil, several(failures, len(req.Commands))
	}
}

// preparer returns what checks the commands of one request.
func (c *core) preparer(principal Principal) *preparer {
	return &preparer{policies: c.policies.Load(), principal: principal}
}

// own commits one of the registry's own decisions, which p has prepared.
func (c *core) own(ctx context.Context, p *preparer, decide decision) (Result, *Error) {
	r := &request{decisions: []decision{decide}, wants: p.wants, impatient: true}
	if err := c.submit(ctx, r); err != nil {
		return Result{}, err
	}
	return r.results[0], nil
}

// engineNow asks the engine for the time.
func (c *core) engineNow(ctx context.Context) (Instant, error) {
	snapshot, err := c.store.Load(ctx, nil)
	return snapshot.Now, err
}

// keepHouse stores the conflict counters from time to time.
func (c *core) keepHouse(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.flushConflicts(ctx); err != nil && ctx.Err() == nil {
				c.cfg.Logger.Warn("dibs: conflict counters could not be stored", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the background work, answers what is under way, refuses what waits,
// and closes the engine.
func (c *core) Close() error {
	if c.writer == nil {
		return nil
	}
	c.stop()
	c.stopped.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), flushEvery)
	defer cancel()
	if err := c.flushConflicts(ctx); err != nil && !errors.Is(err, ErrClosed) {
		c.cfg.Logger.Warn("dibs: conflict counters could not be stored", "error", err)
	}
	c.writer.close()
	c.bell.ring()
	return c.store.Close()
}
