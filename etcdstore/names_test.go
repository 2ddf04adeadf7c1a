//go:build unix

package etcdstore_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/storetest"
)

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
