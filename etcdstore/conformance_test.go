//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/nametest"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/storetest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// patience is how long a call may take on a slow machine.
const patience = time.Minute

// open opens a store, which closes with the test. A slow machine may need longer than the short
// timeout that a test gives its store.
func open(tb testing.TB, cfg etcdstore.Config) *etcdstore.Store {
	tb.Helper()
	store, err := etcdstore.Open(context.Background(), cfg)
	for began := time.Now(); errors.Is(err, dibs.ErrUnavailable) && time.Since(began) < patience; {
		store, err = etcdstore.Open(context.Background(), cfg)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	return store
}

// prefixes opens stores for the suite, each under a prefix of its own.
type prefixes struct {
	opens  sync.Map // of dibs.Store to etcdstore.Config
	cuts   sync.Map // of dibs.Store to *atomic.Bool
	stalls sync.Map // of dibs.Store to *atomic.Pointer[stall]
}

// stall is a transaction that waits.
type stall struct{ reached, resumed chan struct{} }

func (p *prefixes) open(tb testing.TB, clock *storetest.Clock) dibs.Store {
	tb.Helper()
	cluster := etcdtest.Shared(tb)
	var wall atomic.Int64 // a copy: the clock itself is locked while it moves
	wall.Store(clock.Now().UnixNano())
	store := p.openAs(tb, etcdstore.Config{
		Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), MaxSkew: -1, Timeout: patience, MaxTxnOps: 4096,
		Now: func() time.Time { return time.Unix(0, wall.Load()) },
	})
	clock.Follow(func(now time.Time) {
		if now.UnixNano() < wall.Swap(now.UnixNano()) { // as an operator would
			if err := store.SetTime(context.Background(), now); err != nil {
				tb.Error(err)
			}
		}
	})
	return store
}

func (p *prefixes) openAs(tb testing.TB, cfg etcdstore.Config) *etcdstore.Store {
	tb.Helper()
	cut, stalls := new(atomic.Bool), new(atomic.Pointer[stall])
	store, err := etcdstore.Open(context.Background(), etcdstore.Intercept(cfg, func(ctx context.Context, method string,
		req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		if cut.Load() {
			return rpctypes.ErrGRPCPermissionDenied
		}
		if txn, ok := req.(*etcdserverpb.TxnRequest); ok && len(txn.Compare) > 0 {
			if s := stalls.Swap(nil); s != nil {
				close(s.reached)
				<-s.resumed
			}
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}))
	if err != nil {
		tb.Fatal(err)
	}
	p.opens.Store(dibs.Store(store), cfg)
	p.cuts.Store(dibs.Store(store), cut)
	p.stalls.Store(dibs.Store(store), stalls)
	return store
}

// stall holds back the next writing transaction of a store.
func (p *prefixes) stall(_ testing.TB, store dibs.Store) (stalled <-chan struct{}, resume func()) {
	stalls, _ := p.stalls.Load(store)
	s := &stall{make(chan struct{}), make(chan struct{})}
	stalls.(*atomic.Pointer[stall]).Store(s)
	return s.reached, func() { close(s.resumed) }
}

// cut makes every request of a store fail.
func (p *prefixes) cut(_ testing.TB, store dibs.Store) {
	cut, _ := p.cuts.Load(store)
	cut.(*atomic.Bool).Store(true)
}

// again opens the prefix of a store again.
func (p *prefixes) again(tb testing.TB, store dibs.Store, _ *storetest.Clock) dibs.Store {
	tb.Helper()
	cfg, _ := p.opens.Load(store)
	return p.openAs(tb, cfg.(etcdstore.Config))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	p := new(prefixes)
	storetest.Run(t, storetest.Harness{Open: p.open, Reopen: p.again, Crash: p.again, Share: p.again, Cut: p.cut, Stall: p.stall})
}

// register opens a registry on a store of its own.
func register(tb testing.TB, cfg etcdstore.Config, registry dibs.Config) *dibs.Registry {
	tb.Helper()
	return coretest.MustOpen(tb, open(tb, cfg), registry)
}

func TestNames(t *testing.T) {
	t.Parallel()
	nametest.Run(t, func(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
		tb.Helper()
		if clock == nil { // one prefix for several registries, each with its own store
			cluster := etcdtest.Shared(tb)
			cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: patience}
			return &nametest.Harness{Open: func(tb testing.TB) dibs.Store { return open(tb, cfg) }}
		}
		p := new(prefixes)
		store := p.open(tb, clock)
		opened, _ := p.opens.Load(store)
		return &nametest.Harness{
			Open: func(testing.TB) dibs.Store { return store },
			Dump: func(tb testing.TB) []byte { return dump(tb, opened.(etcdstore.Config)) },
		}
	})
}

// dump returns all keys with their values.
func dump(tb testing.TB, cfg etcdstore.Config) (all []byte) {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: cfg.Endpoints})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	answer, err := client.Get(tb.Context(), cfg.Prefix, clientv3.WithPrefix())
	if err != nil {
		tb.Fatal(err)
	}
	for _, kv := range answer.Kvs {
		all = append(append(all, kv.Key...), kv.Value...)
	}
	return all
}
