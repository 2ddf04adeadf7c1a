package core

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// core is the embedded backend on one engine: it decides by the rules and commits to the
// engine.
type core struct {
	cfg      dibs.Config
	policies *atomic.Pointer[policySet] // shared with cores that are bound to a transaction
	store    dibs.Store
	ends     *ends

	writer *writer    // nil inside a transaction of the caller's, as the reader
	tx     *committer // nil outside
	reader *reader

	conflicts   *conflictCounts
	suggestions *singleFlight // under way
	commits     *broadcast    // sent when something was committed here
	failures    failures
	stop        func() // ends the background work
	stopped     sync.WaitGroup
}

var _ dibs.EmbeddedBackend = (*core)(nil)

// openCore begins to work on an engine.
func openCore(store dibs.Store, cfg dibs.Config, shared *atomic.Pointer[policySet], commits *broadcast) *core {
	store = observeStore(store, cfg.Observer)
	c := &core{
		cfg: cfg, policies: shared, store: store, ends: newEnds(store),
		conflicts: &conflictCounts{}, suggestions: newSingleFlight(), commits: commits,
	}
	c.writer, c.reader = newWriter(store, c.ends, cfg, c.batchDone), newReader(store, &c.cfg.Observer)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.stopped.Go(func() { c.flushOften(ctx) })
	if cfg.SweepEvery > 0 {
		c.stopped.Go(func() { c.sweepOften(ctx, cfg.SweepEvery) })
	}
	return c
}

// rules returns the rules under the present policies.
func (c *core) rules() *rules.Policies { return c.policies.Load().Policies }

// InTransaction returns a core on the store that bind returns, which is bound to a
// transaction of the caller's.
func (c *core) InTransaction(bind func(dibs.Store) (dibs.Store, error)) (dibs.Backend, error) {
	store, err := bindTo(unobserved(c.store), bind)
	if err != nil {
		return nil, err
	}
	store = observeStore(store, c.cfg.Observer)
	ends := newEnds(store)
	return &core{
		cfg: c.cfg, policies: c.policies, store: store, ends: ends, tx: &committer{store: store, ends: ends},
		conflicts: c.conflicts, suggestions: newSingleFlight(), commits: newBroadcast(),
	}, nil
}

// IsBound reports whether the core is bound to a transaction of the caller's.
func (c *core) IsBound() bool { return c.tx != nil }

// SetPolicies replaces all policies.
func (c *core) SetPolicies(byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	return setPolicies(c.policies, byNamespace, fallback)
}

// Policy returns the policy of a namespace.
func (c *core) Policy(namespace string) (dibs.Policy, error) { return policyOf(c.policies, namespace) }

// CheckPolicies says whether policies can replace the present ones.
func (c *core) CheckPolicies(ctx context.Context, byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	return checkPolicies(ctx, c.store, byNamespace, fallback)
}

func (c *core) batchDone(info dibs.BatchInfo) {
	if info.Commits > 0 {
		c.commits.send()
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
func (c *core) Apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, error) {
	start := time.Now()
	results, err := c.apply(ctx, req)
	observeCommand(c.cfg.Observer, req, start, err)
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (c *core) apply(ctx context.Context, req dibs.ApplyRequest) ([]dibs.Result, *dibs.Error) {
	var now dibs.Instant
	r, err := c.rules().Apply(req)
	if err == nil {
		if err = c.submit(ctx, newCall(r)); err == nil {
			return r.Result()
		}
		if err.Code == dibs.CodeUnavailable || err.Code == dibs.CodeOutcomeUnknown {
			return nil, err // not refused, and the writer may still have the request
		}
		now = r.DecidedAt()
	}
	if !req.DryRun {
		c.conflicts.note(err, now)
	}
	c.suggestFor(ctx, err)
	return nil, err
}

// submit decides a call and commits what it changes.
func (c *core) submit(ctx context.Context, call *call) *dibs.Error {
	if err := c.send(ctx, call); err != nil {
		return err
	}
	return c.await(ctx, call)
}

// send hands a call to the writer. Inside a transaction of the caller's it is processed at
// once.
func (c *core) send(ctx context.Context, sent *call) *dibs.Error {
	if c.tx == nil {
		return c.writer.enqueue(ctx, sent)
	}
	if _, err := c.tx.process(ctx, []*call{sent}); errors.Is(err, errContended) {
		sent.err = dibs.Unavailable(dibs.ErrRetryTx)
	}
	return nil
}

// await returns the answer to a call that was sent. A call that rests on an end which a
// commit under way may forestall is sent again once that commit is over.
func (c *core) await(ctx context.Context, call *call) *dibs.Error {
	for range maxRereads {
		err := c.wait(ctx, call)
		if err != errEndOpen {
			return err
		}
		open := c.ends.open(call.Request, call.awaited)
		if err := c.ends.await(ctx, open); err != nil {
			return err
		}
		again := newCall(call.Request)
		again.noWait, again.awaited = call.noWait, open
		call = again
		if err := c.send(ctx, call); err != nil {
			return err
		}
	}
	return dibs.Unavailable(errContended)
}

func (c *core) wait(ctx context.Context, call *call) *dibs.Error {
	if c.tx != nil {
		return call.err
	}
	return c.writer.wait(ctx, call)
}

// perform decides a job of the registry's own and commits what it changes. It does not wait
// for a transaction that holds one of its records.
func perform[T any](ctx context.Context, c *core, job *rules.Job[T]) (outcome T, err *dibs.Error) {
	call := newCall(job.Request)
	call.noWait = true
	if err := c.submit(ctx, call); err != nil {
		return outcome, err
	}
	return job.Result()
}

// sendAll hands jobs to the writer, which commits many of them together. Each answer waits for
// its job.
func sendAll[T any](ctx context.Context, c *core, jobs []*rules.Job[T], noWait bool) (answers []func() *dibs.Error, err *dibs.Error) {
	for _, job := range jobs {
		call := newCall(job.Request)
		call.noWait = noWait
		if err := c.send(ctx, call); err != nil {
			return nil, err
		}
		answers = append(answers, func() *dibs.Error { return c.await(ctx, call) })
	}
	return answers, nil
}

// engineNow asks the engine for the time.
func (c *core) engineNow(ctx context.Context) (dibs.Instant, error) {
	loaded, err := c.store.Load(ctx, nil)
	return loaded.Now, err
}

// flushOften stores the conflict counters from time to time.
func (c *core) flushOften(ctx context.Context) {
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

// Close ends the background work, answers the calls that are under way, refuses those that
// wait, and closes the engine.
func (c *core) Close() error {
	if c.IsBound() {
		return nil
	}
	c.stop()
	c.stopped.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), flushEvery)
	defer cancel()
	if err := c.flushConflicts(ctx); err != nil && !errors.Is(err, dibs.ErrClosed) {
		c.cfg.Logger.Warn("dibs: conflict counters could not be stored", "error", err)
	}
	c.writer.close()
	c.commits.send()
	return c.store.Close()
}
