//go:build unix

package etcdstore_test

import (
	"fmt"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// compact compacts and defragments a cluster of one member.
func compact(t *testing.T, cluster *etcdtest.Cluster) {
	t.Helper()
	client := cluster.Client(t)
	now, err := client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Defragment(t.Context(), cluster.Endpoints()[0]); err != nil {
		t.Fatal(err)
	}
}

// sizeOf returns the size of the compacted database.
func sizeOf(t *testing.T, cluster *etcdtest.Cluster) int64 {
	t.Helper()
	compact(t, cluster)
	status, err := cluster.Client(t).Status(t.Context(), cluster.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	return status.DbSizeInUse
}

// A confirmed name of 13 characters, with its entity, its two events and all indexes, takes at most
// 1,300 bytes in the database of a member.
func TestBytesPerName(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	const (
		names   = 2000
		callers = 100
		most    = 1300
	)
	cluster := etcdtest.Start(t, etcdtest.Options{Members: 1, MaxTxnOps: 2048})
	cfg := quiet(cluster)
	cfg.Timeout = patience
	reg := register(t, cfg, dibs.Config{})
	before := sizeOf(t, cluster)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := caller; i < names; i += callers {
				hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("name-%08x", uint32(i)*2654435761)})
				if err == nil {
					_, err = reg.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	each := (sizeOf(t, cluster) - before) / names
	t.Logf("%d bytes a name", each)
	if each > most {
		t.Errorf("%d bytes a name, more than %d", each, most)
	}
}
