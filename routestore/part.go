package routestore

import (
	"context"
	"errors"
	"slices"

	"github.com/calldibs/dibs"
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
)

func newPart(t *table, index int, engine dibs.Store) *part {
	p := &part{table: t, index: index, engine: engine}
	p.lease = newLease(func(ctx context.Context) (refusal, err error) {
		r, err := readRoutes(ctx, engine)
		if err != nil {
			return nil, err
		}
		return t.agrees(r, index), nil
	})
	return p
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
		return nil, leaseError(ctx, err)
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
	own := groups
	for i, g := range groups {
		if len(g.Redacts) == 0 {
			continue
		}
		if &own[0] == &groups[0] {
			own = slices.Clone(groups)
		}
		own[i].Redacts = slices.Clone(g.Redacts)
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

// leaseError classifies an error of the lease: nothing was committed.
func leaseError(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, dibs.ErrUnavailable) {
		return err
	}
	return dibs.Unavailable(err)
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
