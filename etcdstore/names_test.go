//go:build unix

package etcdstore_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/nametest"
)

// namesPlace is one prefix for several registries, each of which opens it by itself.
func namesPlace(tb testing.TB) *nametest.Place {
	tb.Helper()
	cluster := etcdtest.Shared(tb)
	prefix := cluster.Prefix()
	return &nametest.Place{Open: func(tb testing.TB, cfg dibs.Config) *dibs.Registry {
		tb.Helper()
		return register(tb, etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: prefix, Timeout: patience}, cfg)
	}}
}

// register opens a registry on a store of its own.
func register(tb testing.TB, cfg etcdstore.Config, registry dibs.Config) *dibs.Registry {
	tb.Helper()
	reg, err := dibs.Open(open(tb, cfg), registry)
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
