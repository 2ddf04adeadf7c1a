//go:build unix

package server

import (
	"context"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

func init() { fuzzedEngines["etcd"] = engine{"etcd", openEtcd} }

func openEtcd(tb testing.TB) dibs.Store {
	tb.Helper()
	cluster := etcdtest.Start(tb, etcdtest.Options{Members: 1})
	store, err := etcdstore.Open(context.Background(), etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix()})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}
