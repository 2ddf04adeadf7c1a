package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wake"
)

// core is the part of the embedded backend on one engine: it decides by the rules and commits to
// the engine. Its exported methods are those of the [router], which calls them.
type core struct {
	policies
	cfg   dibs.Config
	store dibs.Store
	ends  *pastEnds

	writer *writer    // nil in a transaction of the caller
	reader *reader    // nil in a transaction of the caller
	tx     *committer // nil outside a transaction of the caller

	conflicts   *conflictCounts
	suggestions *singleFlight
	commits     *wake.List // woken after each commit of this process
	failures    failureLog

	stop       func() // ends the background work
	background sync.WaitGroup
}

// openCore returns a core on an engine, and starts its background work. Cores of one registry
// share the policies and the readers of the feed that wait for commits.
func openCore(engine dibs.Store, cfg dibs.Config, all policies, commits *wake.List) *core {
	store := observeStore(engine, cfg.Observer)
	c := &core{
		policies: policies{all.current, store}, cfg: cfg, store: store, ends: &pastEnds{store: store},
		conflicts: &conflictCounts{}, suggestions: newSingleFlight(), commits: commits,
	}
	c.writer, c.reader = newWriter(store, c.ends, cfg, c.batchDone), newReader(store, &c.cfg.Observer)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.background.Go(func() { c.flushOften(ctx) })
	if cfg.SweepEvery > 0 {
		c.background.Go(func() { c.sweepOften(ctx, cfg.SweepEvery) })
	}
	return c
}

// batchDone wakes readers of the feed, logs a failure, and tells the observer.
func (c *core) batchDone(info dibs.BatchInfo) {
	if info.Commits > 0 {
		c.commits.Wake()
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

// engineNow asks the engine for the time.
func (c *core) engineNow(ctx context.Context) (dibs.Instant, error) {
	loaded, err := c.store.Load(ctx, nil)
	return loaded.Now, err
}

// Close ends the background work, finishes the calls in a batch, refuses the calls that wait,
// and closes the engine.
func (c *core) Close() error {
	c.stop()
	c.background.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), flushEvery)
	defer cancel()
	if err := c.flushConflicts(ctx); err != nil && !errors.Is(err, dibs.ErrClosed) {
		c.warnNotFlushed(err)
	}
	c.writer.close()
	c.commits.Wake()
	return c.store.Close()
}

// inTransaction returns a core on the store that bind returns, which is bound to a
// transaction of the caller.
func (c *core) inTransaction(bind func(dibs.Store) (dibs.Store, error)) (*core, error) {
	store, err := bindEngine(unobserved(c.store), bind)
	if err != nil {
		return nil, err
	}
	store = observeStore(store, c.cfg.Observer)
	ends := &pastEnds{store: store}
	return &core{
		policies: policies{c.current, store}, cfg: c.cfg, store: store, ends: ends,
		tx:        &committer{store: store, ends: ends},
		conflicts: c.conflicts, suggestions: newSingleFlight(),
	}, nil
}

// bindEngine binds an engine, or the engine behind a store that wraps one.
func bindEngine(store dibs.Store, bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	if b, ok := store.(dibs.Binder); ok {
		return b.Bind(bind)
	}
	return bind(store)
}

// IsBound reports whether the core is bound to a transaction of the caller.
func (c *core) IsBound() bool { return c.tx != nil }

// refuseBound returns an error if the core is bound to a transaction of the caller.
func (c *core) refuseBound(what string) error {
	if c.IsBound() {
		return fmt.Errorf("%w: %s inside a transaction of the caller", dibs.ErrUnsupported, what)
	}
	return nil
}

// logFailuresEvery is how often an engine that keeps failing for the same cause is logged: a
// full disk must not fill the log as well.
const logFailuresEvery = time.Minute

// failureLog counts the requests that fail because of the engine, between log lines.
type failureLog struct {
	mu        sync.Mutex
	lastCause string // code and cause of the last log line
	lastAt    time.Time
	unlogged  int // requests
}

// add counts failed requests. It returns how many have failed since the last log line if it is
// time for another one, else 0.
func (l *failureLog) add(err error, requests int, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlogged += requests
	e := asError(err)
	cause := string(e.Code) + string(e.Cause)
	if cause == l.lastCause && now.Sub(l.lastAt) < logFailuresEvery {
		return 0
	}
	failed := l.unlogged
	l.lastCause, l.lastAt, l.unlogged = cause, now, 0
	return failed
}
