package routestore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
)

// part is one engine of the store. Its methods need a valid lease, and its cursors are those of
// the whole feed.
type part struct {
	table  *table
	index  int
	engine dibs.Store
	lease  *lease
	bound  bool // to a caller's transaction
}

var (
	_ dibs.Store    = (*part)(nil)
	_ dibs.Binder   = (*part)(nil)
	_ dibs.Pinger   = (*part)(nil)
	_ dibs.Waker    = (*part)(nil)
	_ dibs.Clock    = (*part)(nil)
	_ dibs.Parallel = (*part)(nil)
	_ bisect.Seeker = (*part)(nil)
)

func newPart(t *table, index int, engine dibs.Store) *part {
	return &part{table: t, index: index, engine: engine, lease: &lease{
		read: func(ctx context.Context) (refusal, err error) {
			r, err := readRoutes(ctx, engine)
			if err != nil {
				return nil, err
			}
			return t.agrees(r, index), nil
		},
		renewing: make(chan struct{}, 1),
	}}
}

func (p *part) name() string { return p.table.names[p.index] }

// checkLease returns why the engine must not be used now.
func (p *part) checkLease(ctx context.Context) error {
	_, err := p.lease.acquire(ctx)
	return err
}

func (p *part) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	return leased(ctx, p, func() (dibs.LoadResult, error) { return p.engine.Load(ctx, refs) })
}

// Commit ends soon after the lease: a process that changes the routes waits for commits under way
// for a limited time.
func (p *part) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	until, err := p.lease.acquire(ctx)
	if err != nil {
		return nil, err
	}
	own, err := p.withOwnCursors(groups)
	if err == nil && p.bound {
		own, err = p.withRoutes(ctx, own)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, until.Add(commitTime))
	defer cancel()
	return p.engine.Commit(ctx, own)
}

// withOwnCursors returns groups with the engine's own cursors in Redacts.
func (p *part) withOwnCursors(groups []dibs.Group) ([]dibs.Group, error) {
	if !slices.ContainsFunc(groups, func(g dibs.Group) bool { return len(g.Redacts) > 0 }) {
		return groups, nil
	}
	own := slices.Clone(groups)
	for i := range own {
		own[i].Redacts = slices.Clone(own[i].Redacts)
		for j := range own[i].Redacts {
			at, err := p.table.decode(own[i].Redacts[j].Cursor)
			if err != nil {
				return nil, err
			}
			own[i].Redacts[j].Cursor = at[p.index]
		}
	}
	return own, nil
}

// withRoutes adds the stored routes to the reads of groups. A caller's transaction may commit long
// after the lease, so the engine itself must prevent a change of the routes until then.
func (p *part) withRoutes(ctx context.Context, groups []dibs.Group) ([]dibs.Group, error) {
	r, err := readRoutes(ctx, p.engine)
	if err != nil {
		return nil, err
	}
	if err := p.table.agrees(r, p.index); err != nil {
		return nil, dibs.Unavailable(err)
	}
	if r.rev == 0 {
		return groups, nil // not every engine can check that a record is absent
	}
	own := slices.Clone(groups)
	for i := range own {
		own[i].Reads = append(slices.Clip(own[i].Reads), dibs.Read{Ref: routesRef, Rev: r.rev})
	}
	return own, nil
}

func (p *part) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	if err := p.checkLease(ctx); err != nil {
		return err
	}
	return p.engine.Await(ctx, refs, end)
}

// leased makes a call under the lease of a part.
func leased[T any](ctx context.Context, p *part, call func() (T, error)) (result T, err error) {
	if err := p.checkLease(ctx); err != nil {
		return result, err
	}
	return call()
}

func (p *part) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return leased(ctx, p, func() ([]dibs.Ref, error) { return p.engine.Due(ctx, limit) })
}

func (p *part) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	return leased(ctx, p, func() ([]*dibs.NameRecord, error) { return p.engine.Owned(ctx, scope, entity, limit) })
}

func (p *part) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	return leased(ctx, p, func() ([]dibs.Record, error) { return p.engine.List(ctx, query) })
}

func (p *part) Count(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
	return leased(ctx, p, func() (dibs.Stats, error) { return p.engine.Count(ctx, soon) })
}

// Events returns the part's own events, with cursors of the whole feed.
func (p *part) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return readFeed(ctx, p.table, []*part{p}, query)
}

// Latest returns the end of the part's own feed, as a cursor of the whole feed in which the
// other parts are at their beginning.
func (p *part) Latest(ctx context.Context) (dibs.Cursor, error) {
	return readEnd(ctx, p.table, []*part{p})
}

// Seek returns the place of a date in the part's own feed, like Latest.
func (p *part) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	return seek(ctx, p.table, []*part{p}, at)
}

func (p *part) Close() error { return p.engine.Close() }

func (p *part) Bind(bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	engine, err := bind(p.engine)
	if err != nil {
		return nil, err
	}
	bound := *p
	bound.engine, bound.bound = engine, true
	return &bound, nil
}

// Ping checks whether the engine answers.
func (p *part) Ping(ctx context.Context) error {
	if pinger, ok := p.engine.(dibs.Pinger); ok {
		return pinger.Ping(ctx)
	}
	_, err := p.engine.Load(ctx, nil)
	return err
}

// Wake returns the engine's channel. A nil channel never receives.
func (p *part) Wake(ctx context.Context) <-chan struct{} {
	if waker, ok := p.engine.(dibs.Waker); ok {
		return waker.Wake(ctx)
	}
	return nil
}

func (p *part) Now() (dibs.Instant, bool) {
	if clock, ok := p.engine.(dibs.Clock); ok {
		return clock.Now()
	}
	return 0, false
}

func (p *part) Writers() int {
	if parallel, ok := p.engine.(dibs.Parallel); ok {
		return parallel.Writers()
	}
	return 1
}

// asStore returns the part, with Scrub if its engine has it.
func (p *part) asStore() dibs.Store {
	if _, can := p.engine.(dibs.Scrubber); can {
		return scrubbing{p}
	}
	return p
}

// scrubbing is a part whose engine can scrub its files.
type scrubbing struct{ *part }

var _ dibs.Scrubber = scrubbing{}

func (p scrubbing) Scrub(ctx context.Context) error {
	if err := p.checkLease(ctx); err != nil {
		return err
	}
	return p.engine.(dibs.Scrubber).Scrub(ctx)
}

const (
	// checkEvery is how often a process reads the stored routes.
	checkEvery = 2 * time.Second
	// leaseTime is how long a process may use them without reading them again.
	leaseTime = 5 * time.Second
	// commitTime is how much longer a commit may take that began just before the end of a lease.
	commitTime = 5 * time.Second
	// changeWait is how long a process that changes the routes waits for all others: a little
	// longer than a lease and its last commit.
	changeWait = leaseTime + commitTime + 2*time.Second
)

// lease allows the use of a part while the stored routes are those of this process. It is
// renewed in the background. If it has expired, because the engine did not answer or the process
// was suspended, the next call renews it.
type lease struct {
	// read reads the stored routes; refusal says that they are not those of this process.
	read func(ctx context.Context) (refusal, err error)

	until    atomic.Pointer[time.Time] // nil means that the lease has expired
	renewing chan struct{}             // a mutex for renewals by calls

	failed atomic.Pointer[failure] // the last renewal, if it failed
}

// failure is an error and its time.
type failure struct {
	err error
	at  time.Time
}

// valid returns when the lease expires, unless it has expired: by the monotonic clock or by the
// wall clock, whichever comes first. The wall clock may be set; the monotonic clock may stop while
// the machine sleeps.
func (l *lease) valid() (time.Time, bool) {
	until, now := l.until.Load(), time.Now()
	if until == nil || !now.Before(*until) || !now.Round(0).Before(until.Round(0)) {
		return time.Time{}, false
	}
	return *until, true
}

// acquire returns when the lease expires, or why it cannot be renewed.
func (l *lease) acquire(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if until, ok := l.valid(); ok {
		return until, nil
	}
	called := time.Now()
	select {
	case l.renewing <- struct{}{}:
		defer func() { <-l.renewing }()
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	if until, ok := l.valid(); ok { // another call has renewed it
		return until, nil
	}
	// Waiting calls share a failure: an engine that is gone may take long to fail.
	if last := l.failed.Load(); last != nil && last.at.After(called) {
		return time.Time{}, last.err
	}
	if err := l.renew(ctx); err != nil {
		return time.Time{}, err
	}
	if until, ok := l.valid(); ok {
		return until, nil
	}
	return time.Time{}, dibs.Unavailable(errSlow)
}

var errSlow = errors.New("routestore: the store took longer to read the routes than the lease lasts: check its load")

// renew reads the stored routes. The lease begins before the read. Other routes end the lease at
// once; without an answer of the engine it expires.
func (l *lease) renew(ctx context.Context) error {
	until := time.Now().Add(leaseTime)
	refusal, err := l.read(ctx)
	if refusal != nil {
		l.until.Store(nil)
		err = refusal
	}
	switch {
	case err == nil:
		l.until.Store(&until)
		return nil
	case refusal == nil && ctx.Err() != nil: // the caller gave up
		return err
	case !errors.Is(err, dibs.ErrUnavailable): // nothing was committed
		err = dibs.Unavailable(err)
	}
	l.failed.Store(&failure{err, time.Now()})
	return err
}

// keep renews the lease until the context ends, and logs when renewals begin to fail or to
// succeed.
func (l *lease) keep(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	var failed error
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		renewal, cancel := context.WithTimeout(ctx, leaseTime)
		err := l.renew(renewal)
		cancel()
		state := stateOf(err)
		switch {
		case state == last || ctx.Err() != nil || errors.Is(err, dibs.ErrClosed):
		case err == nil:
			log.Info("the store answers again about its routes", "before", failed)
		default:
			log.Warn("the store does not answer about its routes", "error", err)
		}
		last, failed = state, err
	}
}

// stateOf tells failures apart for the log. The text of an error may differ each time; its cause
// does not.
func stateOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*dibs.Error](err); ok && e.Cause != "" {
		return string(e.Cause)
	}
	return err.Error()
}
