package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
)

// A server with a cache answers from it, even while its engine is unavailable, but not for
// Cache-Control: no-cache.
func TestCache(t *testing.T) {
	t.Parallel()
	const maxStale = 90 * time.Second
	var cache *dibscache.Cache
	r := newRig(t, onSQLite, nil, func(cfg *Config) {
		var err error
		cache, err = dibscache.New(cfg.Registry, dibscache.Config{MaxStale: maxStale, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Cache = cache
	})
	t.Cleanup(func() { _ = cache.Close() })
	ann := dibs.Entity{Type: "user", ID: "ann"}
	for _, command := range []dibs.Command{
		dibs.Claim{Namespace: "slug", Value: "old", Entity: ann},
		dibs.Rename{Namespace: "slug", Entity: ann, Value: "ann"},
	} {
		if _, err := r.registry.Apply(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	questions := []struct {
		path     string
		status   int
		contains string
	}{
		{"/v1/resolve/slug/ann", 200, `"outcome":"active"`},
		{"/v1/resolve/slug/old", 301, `"to":"ann"`},
		{"/v1/resolve/slug/nobody", 404, `"outcome":"not_found"`},
		{"/v1/check/slug/ann", 200, `"available":false`},
		{"/v1/check/slug/nobody", 200, `"available":true`},
	}
	ask := func(header http.Header) {
		t.Helper()
		for _, q := range questions {
			reply, body := r.send(http.MethodGet, q.path, header, "")
			if reply.status != q.status || !strings.Contains(body, q.contains) {
				t.Errorf("%s: %d %s", q.path, reply.status, body)
			}
			var age int
			if _, err := fmt.Sscanf(reply.header.Get("Cache-Control"), "max-age=%d", &age); strings.Contains(q.path, "resolve") && (err != nil || age > int(maxStale.Seconds())) {
				t.Errorf("%s may be kept by %q", q.path, reply.header.Get("Cache-Control"))
			}
		}
	}
	// The cache keeps no answer from before it has read the events of the commands above.
	for done := time.Now(); time.Since(done) < cache.Stats().Lag; { // in this order: time passes between the two
		runtime.Gosched()
	}
	ask(nil)
	known := cache.Stats()
	r.store.mode.Store(outOfReach)
	ask(nil)
	for _, q := range questions {
		if reply, body := r.send(http.MethodGet, q.path, http.Header{"Cache-Control": {"No-Cache"}}, ""); reply.status != http.StatusServiceUnavailable {
			t.Errorf("%s, as it is now, with the engine out of reach: %d %s", q.path, reply.status, body)
		}
	}
	r.store.mode.Store(works)
	ask(http.Header{"Cache-Control": {"no-cache"}})
	if s := cache.Stats(); s.Hits != known.Hits+uint64(len(questions)) || s.Misses != known.Misses {
		t.Errorf("the cache had %+v, and before %+v", s, known)
	}
}
