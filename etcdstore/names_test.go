//go:build unix

package etcdstore_test

import (
	"testing"

	"github.com/calldibs/dibs/internal/core"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/storetest"
)

// namesPlace is one prefix for several registries, each with its own store.
func namesPlace(tb testing.TB) *nametest.Harness {
	tb.Helper()
	cluster := etcdtest.Shared(tb)
	prefix := cluster.Prefix()
	return &nametest.Harness{Open: func(tb testing.TB, cfg dibs.Config) *dibs.Registry {
		tb.Helper()
		return register(tb, etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: prefix, Timeout: patience}, cfg)
	}}
}

// register opens a registry on a store of its own.
func register(tb testing.TB, cfg etcdstore.Config, registry dibs.Config) *dibs.Registry {
	tb.Helper()
	reg, err := core.Open(open(tb, cfg), registry)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = reg.Close() })
	return reg
}

func TestLookAlikes(t *testing.T) {
	t.Parallel()
	nametest.LookAlikes(t, namesPlace)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	nametest.Keys(t, namesPlace)
}

func TestForget(t *testing.T) {
	t.Parallel()
	nametest.Forget(t, func(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
		tb.Helper()
		p := new(prefixes)
		store := p.open(tb, clock)
		opened, _ := p.opens.Load(store)
		cfg := opened.(etcdstore.Config)
		return &nametest.Harness{
			Open: func(tb testing.TB, registry dibs.Config) *dibs.Registry {
				tb.Helper()
				reg, err := core.Open(store, registry)
				if err != nil {
					tb.Fatal(err)
				}
				return reg
			},
			Dump: func(tb testing.TB) []byte { return dump(tb, cfg) },
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
