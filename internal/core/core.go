// Package core is the embedded backend: it runs the rules of internal/rules on an engine.
// docs/architecture.md explains why its parts are as they are; this is the map of them.
//
// A [router] is the backend of a Registry. It sends a call to the [core] of the engine that has
// its scope, or to all and merges the answers. Nearly always there is one engine.
//
// A command: [core.Apply] prepares the commands of a caller as one [rules.Request] and wraps it in
// a [call], which waits in the queue of the [writer]. The writer hands batches of calls to the
// [committer], which decides them on one [rules.Batch]: from the [guesser] without a Load if
// possible, otherwise from a Load. It commits the groups of the batch, and decides calls of
// stale groups again. Calls of busy groups become [blockedCalls].
//
// A read is a [rules.Job] too, but commits nothing. [ask] answers it by the [reader], whose Loads
// questions share, and [askAlone] by a Load of its own. [destinations] saves a Resolve its second Load.
//
// An answer that commits nothing may rest on time alone: a hold is over, and no commit has
// written that yet. [pastEnds] makes the caller wait for commits that could contradict it.
//
// In the background, [core.Sweep] ends what is over and asks witnesses: the [sweepLane] joins
// commits of the writer, in turns that leave callers their share. [conflictCounts] and [activityCounts]
// are stored every few seconds. Readers of the [feed] wake up after each commit.
//
// On a transaction of the caller, a core has no writer and no reader: it decides and commits each
// call at once.
package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
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
	sweeps *sweepLane // nil in a transaction of the caller
	reader *reader    // nil in a transaction of the caller
	tx     *committer // nil outside a transaction of the caller

	destinations *destinations

	conflicts   *conflictCounts
	activity    *activityCounts
	suggestions sharedSuggestions
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
		destinations: newDestinations(), conflicts: &conflictCounts{}, activity: newActivityCounts(), commits: commits,
	}
	c.writer, c.reader = newWriter(store, c.ends, c.activity, cfg, c.batchDone), newReader(store, &c.cfg.Observer)
	c.sweeps = newSweepLane(c.writer, store, c.ends, commits, cfg.Writers)
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
	if err := c.flush(ctx); err != nil && !errors.Is(err, dibs.ErrClosed) {
		c.warnNotFlushed(err)
	}
	c.writer.close()
	c.commits.Wake()
	return c.store.Close()
}

// inTransaction returns a core on the store that bind returns, which is bound to a
// transaction of the caller.
func (c *core) inTransaction(bind func(dibs.Store) (dibs.Store, error)) (*core, error) {
	var store dibs.Store
	var err error
	if wrapper, ok := unobserved(c.store).(dibs.Binder); ok {
		store, err = wrapper.Bind(bind) // the engine behind it
	} else {
		store, err = bind(unobserved(c.store))
	}
	if err != nil {
		return nil, err
	}
	store = observeStore(store, c.cfg.Observer)
	ends := &pastEnds{store: store}
	return &core{
		policies: policies{c.current, store}, cfg: c.cfg, store: store, ends: ends,
		tx:           &committer{store: store, ends: ends, activity: c.activity},
		destinations: c.destinations, conflicts: c.conflicts, activity: c.activity,
	}, nil
}

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

// Open returns a Registry on an engine. The Registry owns the store from then on, and closes
// it. Unlike embedded.Open it adds no profiles and no sweeper: nil Policies mean that Default
// is the policy of every namespace, and a zero SweepEvery means that no sweeper runs.
func Open(store dibs.Store, cfg dibs.Config) (*dibs.Registry, error) {
	if err := validateConfig(cfg); err != nil {
		return nil, err
	}
	all := policies{new(atomic.Pointer[policySet]), store}
	if err := all.SetPolicies(cfg.Policies, cfg.Default); err != nil {
		return nil, err
	}
	return dibs.NewRegistry(openRouter(store, cfg, all)), nil
}

// validateConfig checks a config, with or without its defaults.
func validateConfig(c dibs.Config) error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"QueueSize", int64(c.QueueSize)},
		{"MaxBatch", int64(c.MaxBatch)},
		{"Writers", int64(c.Writers)},
		{"PollEvery", int64(c.PollEvery)},
		{"ConflictHistory", int64(c.ConflictHistory)},
	} {
		if f.value < 0 {
			return fmt.Errorf("dibs: Config.%s is negative", f.name)
		}
	}
	return nil
}

// withDefaults returns the config with the defaults for an engine in place of zero fields.
func withDefaults(c dibs.Config, engine dibs.Store) dibs.Config {
	c.QueueSize = cmp.Or(c.QueueSize, 4096)
	c.MaxBatch = cmp.Or(c.MaxBatch, 512)
	if p, ok := engine.(dibs.Parallel); ok {
		c.Writers = cmp.Or(c.Writers, p.Writers())
	}
	c.Writers = max(c.Writers, 1)
	c.PollEvery = cmp.Or(c.PollEvery, 250*time.Millisecond)
	c.Suggestions = cmp.Or(c.Suggestions, 3)
	c.ConflictHistory = cmp.Or(c.ConflictHistory, 90*24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// policySet is a set of policies with a number that no other set of this process has.
type policySet struct {
	*rules.Policies
	generation uint64
}

var lastGeneration atomic.Uint64

// policies is the part of a backend that is about policies. Backends embed it.
type policies struct {
	current *atomic.Pointer[policySet] // shared by all cores of a registry, in transactions too
	store   dibs.Store                 // whose namespaces CheckPolicies compares
}

func (p policies) rules() *rules.Policies { return p.current.Load().Policies }

func (p policies) SetPolicies(byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	p.current.Store(&policySet{set, lastGeneration.Add(1)})
	return nil
}

func (p policies) Policy(namespace string) (dibs.Policy, error) {
	policy, err := p.rules().Policy(namespace)
	if err != nil {
		return dibs.Policy{}, err
	}
	return policy, nil
}

// CheckPolicies compares policies with the rules on record of every namespace.
func (p policies) CheckPolicies(ctx context.Context, byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	var other dibs.OtherRulesError
	query := dibs.ListQuery{Kind: dibs.KindNamespace, Limit: recanonicalizePage}
	for doc, err := range listAll[*dibs.Document](ctx, p.store, query) {
		if err != nil {
			return err
		}
		rules, differ, damaged := set.OtherRules(doc)
		switch {
		case damaged != nil:
			return damaged
		case !differ:
		case len(other.Namespaces) < maxFindings:
			other.Namespaces = append(other.Namespaces, rules)
		default:
			other.More++
		}
	}
	if len(other.Namespaces) == 0 {
		return nil
	}
	slices.SortFunc(other.Namespaces, func(a, b dibs.OtherRules) int { return strings.Compare(a.Namespace, b.Namespace) })
	return &other
}
