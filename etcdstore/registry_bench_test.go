//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

const callers = 256

var benchNames atomic.Int64

// stampede makes many callers claim b.N different names.
func stampede(b *testing.B, claim func(name string) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := claim(fmt.Sprintf("name-%08x", uint32(benchNames.Add(1))*2654435761)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "names/s")
}

// BenchmarkReserve is 256 callers that reserve different names on three members that sync to disk:
// by Dibs, and by one transaction per claim of the plain client.
func BenchmarkReserve(b *testing.B) {
	cluster := etcdtest.Start(b, etcdtest.Options{Sync: true, MaxTxnOps: 4096})
	for _, writers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("dibs/writers=%d", writers), func(b *testing.B) {
			reg := register(b, etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: 30 * time.Second, Writers: writers}, dibs.Config{})
			stampede(b, func(name string) error {
				_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: name})
				return err
			})
		})
	}
	b.Run("plain", func(b *testing.B) {
		client := cluster.Client(b)
		prefix := cluster.Prefix()
		stampede(b, func(name string) error { return plainClaim(client, prefix+name) })
	})
}

// plainClaim is the minimum that gives out a name once: no history, no expiry.
func plainClaim(client *clientv3.Client, key string) error {
	answer, err := client.Txn(context.Background()).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, `{"token":"0123456789abcdef0123456789abcdef","until":1789000000000}`)).Commit()
	if err == nil && !answer.Succeeded {
		err = errors.New("a new name is taken")
	}
	return err
}
