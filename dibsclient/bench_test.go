package dibsclient_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
)

// BenchmarkReserve is one reservation over a loopback connection, by many callers.
func BenchmarkReserve(b *testing.B) {
	r := newFixture(b, dibsclient.Options{})
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Reserve(b.Context(), dibs.Reserve{Namespace: "slug", Value: "name-" + strconv.FormatInt(n.Add(1), 10)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
