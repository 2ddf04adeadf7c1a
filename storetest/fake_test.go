package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
)

// fake is a handle on data in a memstore that outlives it, as a disk would. Each
// of its methods can be broken.
type fake struct {
	data dibs.Store
	down atomic.Pointer[dibs.Error] // the error of a closed or cut-off store
	held sync.Map                   // refs that another transaction has locked

	// before runs before every method. The context it returns is passed to the data.
	before func(ctx context.Context, method string) (context.Context, error)
	load   func(context.Context, []dibs.Ref) (dibs.LoadResult, error)
	commit func(context.Context, []dibs.Group) ([]dibs.Outcome, error)
	due    func(context.Context, int) ([]dibs.Ref, error)
	owned  func(context.Context, string, dibs.Entity, int) ([]*dibs.NameRecord, error)
	list   func(context.Context, dibs.ListQuery) ([]dibs.Record, error)
	count  func(context.Context, dibs.Instant) (dibs.Stats, error)
	events func(context.Context, dibs.EventQuery) ([]dibs.Event, error)
	await  func(context.Context, []dibs.Ref, dibs.Instant) error
	latest func(context.Context) (dibs.Cursor, error)
	seek   func(context.Context, dibs.Instant) (dibs.Cursor, error)
	close  func() error

	snapshot func(context.Context) (snapshot.View, error)
}

func newFake(data dibs.Store) *fake {
	f := &fake{
		data: data, load: data.Load, due: data.Due,
		await: data.Await, owned: data.Owned, list: data.List, count: data.Count, events: data.Events, latest: data.Latest,
	}
	f.snapshot = func(ctx context.Context) (snapshot.View, error) { return snapshot.Take(ctx, data.(*disk).Store) }
	f.commit, f.seek = f.commitFree, data.(bisect.Seeker).Seek
	f.before = func(ctx context.Context, _ string) (context.Context, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.down.Load(); err != nil {
			return nil, err
		}
		return ctx, nil
	}
	f.close = func() error {
		f.down.Store(dibs.Unavailable(dibs.ErrClosed))
		return nil
	}
	return f
}

// breakage breaks a fake.
type breakage func(f *fake, clock *Clock)

// fakes returns a harness with all optional parts, whose stores are broken.
func fakes(broken breakage) Harness {
	open := func(data dibs.Store, clock *Clock) dibs.Store {
		f := newFake(data)
		if broken != nil {
			broken(f, clock)
		}
		return f
	}
	again := func(_ testing.TB, store dibs.Store, clock *Clock) dibs.Store {
		return open(store.(*fake).data, clock)
	}
	return Harness{
		Open: func(_ testing.TB, clock *Clock) dibs.Store {
			return open(&disk{Store: memstore.New(memstore.Config{Now: clock.Now}), clock: clock}, clock)
		},
		Reopen: again,
		Crash:  again,
		Share:  again,
		Cut: func(_ testing.TB, store dibs.Store) {
			store.(*fake).down.Store(dibs.Unavailable(errors.New("the network is down")))
		},
		Stall: func(_ testing.TB, store dibs.Store) (<-chan struct{}, func()) {
			return store.(*fake).data.(*disk).stall()
		},
		Hold: func(_ testing.TB, store dibs.Store, ref dibs.Ref) func() {
			f := store.(*fake)
			f.held.Store(ref, nil)
			return func() { f.held.Delete(ref) }
		},
	}
}

func (f *fake) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	ctx, err := f.before(ctx, "Load")
	if err != nil {
		return dibs.LoadResult{}, err
	}
	return f.load(ctx, refs)
}

func (f *fake) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	ctx, err := f.before(ctx, "Commit")
	if err != nil {
		return nil, err
	}
	return f.commit(ctx, groups)
}

func (f *fake) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	ctx, err := f.before(ctx, "Await")
	if err != nil {
		return err
	}
	return f.await(ctx, refs, end)
}

func (f *fake) Count(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
	ctx, err := f.before(ctx, "Count")
	if err != nil {
		return dibs.Stats{}, err
	}
	return f.count(ctx, soon)
}

func (f *fake) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	ctx, err := f.before(ctx, "Due")
	if err != nil {
		return nil, err
	}
	return f.due(ctx, limit)
}

func (f *fake) Owned(ctx context.Context, scope string, owner dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	ctx, err := f.before(ctx, "Owned")
	if err != nil {
		return nil, err
	}
	return f.owned(ctx, scope, owner, limit)
}

func (f *fake) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	ctx, err := f.before(ctx, "List")
	if err != nil {
		return nil, err
	}
	return f.list(ctx, query)
}

func (f *fake) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	ctx, err := f.before(ctx, "Events")
	if err != nil {
		return nil, err
	}
	return f.events(ctx, query)
}

func (f *fake) Latest(ctx context.Context) (dibs.Cursor, error) {
	ctx, err := f.before(ctx, "Latest")
	if err != nil {
		return "", err
	}
	return f.latest(ctx)
}

func (f *fake) Snapshot(ctx context.Context) (snapshot.View, error) {
	ctx, err := f.before(ctx, "Snapshot")
	if err != nil {
		return nil, err
	}
	return f.snapshot(ctx)
}

func (f *fake) Seek(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
	ctx, err := f.before(ctx, "Seek")
	if err != nil {
		return "", err
	}
	return f.seek(ctx, at)
}

func (f *fake) Close() error { return f.close() }

// commitFree commits the groups without a locked record.
func (f *fake) commitFree(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	for i, g := range groups {
		if slices.ContainsFunc(g.Reads, f.holds) {
			outcomes[i] = dibs.Busy
			continue
		}
		found, err := f.data.Commit(ctx, groups[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes[i] = found[0]
	}
	return outcomes, nil
}

func (f *fake) holds(read dibs.Read) bool {
	_, held := f.held.Load(read.Ref)
	return held
}
