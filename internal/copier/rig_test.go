//go:build unix

package copier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/etcdtest"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// engines open a new store. The function that they return opens it again.
var engines = map[string]func(tb testing.TB) func() dibs.Store{
	"memory": func(testing.TB) func() dibs.Store {
		store := memstore.New(memstore.Config{})
		return func() dibs.Store { return keepOpen{store} }
	},
	"sqlite": func(tb testing.TB) func() dibs.Store {
		path := filepath.Join(tb.TempDir(), "names.db")
		cfg := sqlitestore.Config{BusyTimeout: time.Minute}
		return func() dibs.Store { return must(sqlitestore.Open(context.Background(), path, cfg))(tb) }
	},
	"postgres": func(tb testing.TB) func() dibs.Store {
		cluster := pgtest.Shared(tb)
		schema := cluster.NewSchema(tb)
		return func() dibs.Store {
			return must(pgstore.Open(context.Background(), cluster.DSN("postgres"), pgstore.Config{Schema: schema}))(tb)
		}
	},
	"etcd": func(tb testing.TB) func() dibs.Store {
		cluster := etcdtest.Shared(tb)
		cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), MaxSkew: -1, Timeout: 30 * time.Second}
		return func() dibs.Store { return must(etcdstore.Open(context.Background(), cfg))(tb) }
	},
}

// keepOpen is a store in memory that outlives its handles.
type keepOpen struct{ *memstore.Store }

func (keepOpen) Close() error { return nil }

func must[T any](value T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return value
	}
}

// errKilled ends a copier like a kill: it does nothing more.
var errKilled = errors.New("killed")

// mortal is a store whose user dies at one of its calls: before the call, or after it, without
// its answer.
type mortal struct {
	dibs.Store
	life *life
}

type life struct {
	calls atomic.Int64
	dies  int64 // at this call; 0 means never
	after bool
}

// call makes a call, unless the user dies before it.
func call[T any](l *life, do func() (T, error)) (none T, err error) {
	n := l.calls.Add(1)
	if l.dies != 0 && (n > l.dies || n == l.dies && !l.after) {
		return none, errKilled
	}
	result, err := do()
	if n == l.dies {
		return none, errKilled
	}
	return result, err
}

func (m mortal) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	return call(m.life, func() (dibs.LoadResult, error) { return m.Store.Load(ctx, refs) })
}

func (m mortal) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	return call(m.life, func() ([]dibs.Outcome, error) { return m.Store.Commit(ctx, groups) })
}

func (m mortal) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return call(m.life, func() ([]dibs.Event, error) { return m.Store.Events(ctx, query) })
}

func (m mortal) Latest(ctx context.Context) (dibs.Cursor, error) {
	return call(m.life, func() (dibs.Cursor, error) { return m.Store.Latest(ctx) })
}

func (m mortal) Snapshot(ctx context.Context) (snapshot.View, error) {
	var taken snapshot.View
	view, err := call(m.life, func() (_ snapshot.View, err error) {
		taken, err = snapshot.Take(ctx, m.Store)
		return taken, err
	})
	if view == nil && taken != nil {
		_ = taken.Close() // as the end of a process does
	}
	return view, err
}

func (m mortal) Fence(ctx context.Context, place string) error {
	_, err := call(m.life, func() (struct{}, error) { return struct{}{}, m.Store.(record.Fencer).Fence(ctx, place) })
	return err
}

func (m mortal) Unfence(ctx context.Context) error { return m.Store.(record.Fencer).Unfence(ctx) }

func (m mortal) ContinueAfter(ctx context.Context, cursor dibs.Cursor) error {
	_, err := call(m.life, func() (struct{}, error) {
		return struct{}{}, m.Store.(interface {
			ContinueAfter(context.Context, dibs.Cursor) error
		}).ContinueAfter(ctx, cursor)
	})
	return err
}

var options = copier.Options{From: "the old place", To: "the address of the database", Place: "the new place"}

// rig is a registry on its way from one engine to another.
type rig struct {
	testing.TB
	source, target dibs.Store // the copier's own handles
	openTarget     func() dibs.Store
	registry       *dibs.Registry // on the source
}

var policies = map[string]dibs.Policy{
	"slug": {HoldHistory: dibs.MinHoldHistory, MaxHolds: 10_000}, // with quotas, which change without events
	"mail": {ManyPerEntity: true},
}

func newRig(tb testing.TB, from, to string) *rig {
	tb.Helper()
	openSource, openTarget := engines[from](tb), engines[to](tb)
	r := &rig{TB: tb, source: openSource(), target: openTarget(), openTarget: openTarget}
	r.registry = must(embedded.Open(openSource(), dibs.Config{Policies: policies, SweepEvery: 20 * time.Millisecond, PollEvery: time.Millisecond}))(tb)
	tb.Cleanup(func() { _ = errors.Join(r.registry.Close(), r.source.Close(), r.target.Close()) })
	return r
}

// copy runs a copier until it is done or dies.
func (r *rig) copy(l *life) (copier.Report, error) {
	return copier.Run(context.Background(), mortal{r.source, l}, mortal{r.target, l}, options)
}

// caller uses the registry, and remembers what was acknowledged.
type caller struct {
	id     int
	random *rand.Rand
	names  map[string]dibs.Entity // active names that it was told it has
	gone   map[string]bool        // names that it was told are free
	forgot []string
	next   int
}

// step makes one change of several commands. The error is that of the fence.
func (c *caller) step(ctx context.Context, reg *dibs.Registry) error {
	c.next++
	value, entity := fmt.Sprintf("c%d-%d", c.id, c.next), dibs.Entity{Type: "user", ID: fmt.Sprintf("%d-%d", c.id, c.next)}
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: value, Meta: map[string]string{"n": value}})
	if err != nil {
		return err
	}
	if c.next%5 == 0 {
		if _, err := reg.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token}); err != nil {
			return err
		}
		c.gone[value] = true
		return nil
	}
	if _, err := reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity}); err != nil {
		return err
	}
	c.names[value] = entity
	if _, err := reg.Claim(ctx, dibs.Claim{Namespace: "mail", Value: value + "@example.com", Entity: entity}); err != nil {
		return err
	}
	for old, owner := range c.names { // some name that it has
		switch c.random.IntN(4) {
		case 0:
			if _, err := reg.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: owner, Value: old + "x"}); err != nil {
				return err
			}
			delete(c.names, old)
			c.names[old+"x"] = owner
		case 1:
			if _, err := reg.Delete(ctx, dibs.Delete{Entity: owner}); err != nil {
				return err
			}
			delete(c.names, old)
			c.gone[old] = true
		case 2:
			if c.next%4 != 0 {
				break
			}
			delete(c.names, old) // also if the fence interrupts it: it takes several steps
			if _, err := reg.As(dibs.Principal{Rights: dibs.Operate}).Forget(ctx, dibs.ForgetRequest{Entity: owner}); err != nil {
				return err
			}
			c.forgot = append(c.forgot, owner.ID)
		}
		break
	}
	return nil
}

// load lets callers change names until the fence stops them. It returns when all of them have
// begun; finished waits for their end.
func (r *rig) load(n int) (callers []*caller, finished func()) {
	r.Helper()
	var running sync.WaitGroup
	var begun atomic.Int64
	pace := time.NewTicker(10 * time.Millisecond)
	for i := range n {
		c := &caller{id: i, random: rand.New(rand.NewPCG(uint64(i), 1)), names: make(map[string]dibs.Entity), gone: make(map[string]bool)}
		callers = append(callers, c)
		running.Go(func() {
			for {
				err := c.step(context.Background(), r.registry)
				if refused, ok := errors.AsType[*dibs.Error](err); ok && refused.Cause == record.Moved(options.Place).Cause {
					begun.Add(int64(n)) // however few
					return
				}
				if err != nil && !errors.Is(err, dibs.ErrUnavailable) { // a busy machine may be slow
					r.Errorf("caller %d: %v", c.id, err)
					begun.Add(int64(n))
					return
				}
				if c.next == 10 {
					begun.Add(1)
				}
				if c.next > 10 { // a slow copy must not get a large registry to copy
					<-pace.C
				}
			}
		})
	}
	for begun.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	return callers, func() {
		running.Wait()
		pace.Stop()
	}
}

// check checks that the target has everything that was acknowledged, and is what the source was
// when it stopped.
func (r *rig) check(callers []*caller) {
	r.Helper()
	moved := must(embedded.Open(r.openTarget(), dibs.Config{Policies: policies, SweepEvery: -1}))(r)
	defer func() { _ = moved.Close() }()
	ctx := context.Background()
	for _, c := range callers {
		for value, entity := range c.names {
			name, err := moved.Get(ctx, dibs.Lookup{Namespace: "slug", Value: value})
			if err != nil || name.Entity != entity || name.State != dibs.Active {
				r.Errorf("%s was acknowledged for %s; the target has %v %s, %v", value, entity, name.Entity, name.State, err)
			}
		}
		for value := range c.gone {
			if _, err := moved.Claim(ctx, dibs.Claim{Namespace: "slug", Value: value, Entity: dibs.Entity{Type: "check", ID: value}}); err != nil {
				r.Errorf("%s was given up: %v", value, err)
			}
		}
	}
}

// requireSame compares the registries by other means than the copier's.
func (r *rig) requireSame() (names int) {
	r.Helper()
	ctx, source, target := context.Background(), r.source, r.target
	sameEvents := func(a, b []dibs.Event) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			a[i].Cursor, b[i].Cursor = "", ""
			if len(a[i].Meta) == 0 && len(b[i].Meta) == 0 {
				a[i].Meta, b[i].Meta = nil, nil
			}
		}
		return reflect.DeepEqual(a, b)
	}
	query := dibs.ListQuery{Kind: dibs.KindName, Limit: 1 << 20}
	a, b := must(source.List(ctx, query))(r), must(target.List(ctx, query))(r)
	if len(a) != len(b) {
		r.Fatalf("the source has %d names, the target %d", len(a), len(b))
	}
	for i := range a {
		n, m := a[i].(*dibs.NameRecord), b[i].(*dibs.NameRecord)
		if n.Key() != m.Key() || n.Rev != m.Rev || n.State != m.State || n.Epoch != m.Epoch || n.Owner != m.Owner || n.Token != m.Token {
			r.Errorf("the source has\n%+v\nthe target\n%+v", n, m)
		}
		history := dibs.EventQuery{Name: n.ID, Limit: 1000}
		if h, i := must(source.Events(ctx, history))(r), must(target.Events(ctx, history))(r); !sameEvents(h, i) {
			r.Errorf("%s has the history\n%+v\nand in the target\n%+v", n.Key(), h, i)
		}
	}
	feed := dibs.EventQuery{Limit: 1 << 20}
	if e, f := must(source.Events(ctx, feed))(r), must(target.Events(ctx, feed))(r); len(e) != len(f) {
		r.Errorf("the feed has %d events, and %d in the target", len(e), len(f))
	}
	return len(a)
}
