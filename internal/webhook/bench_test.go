package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs/internal/webhook"
)

// BenchmarkDelivery delivers events of different names to a local receiver.
func BenchmarkDelivery(b *testing.B) {
	for _, concurrency := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(concurrency), func(b *testing.B) {
			var got atomic.Int64
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				got.Add(1)
			}))
			b.Cleanup(receiver.Close)
			r := rigOn(b, openSQLite(b), func(c *webhook.Config) {
				c.Concurrency = concurrency
				*c = c.WithLimits(webhook.Limits{})
			})
			for i := range b.N {
				r.claim("slug", fmt.Sprint("name", i), fmt.Sprint(i))
			}
			r.hook(receiver.URL)
			b.ResetTimer()
			r.deliver()
			eventually(b, "all events arrive", func() bool { return got.Load() >= int64(b.N) })
		})
	}
}
