package server_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/sqlitestore"
)

// BenchmarkResolve measures a resolve on an SQLite file, without the network: of the registry, and
// of the server.
func BenchmarkResolve(b *testing.B) {
	store, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "names.db"), sqlitestore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	reg, err := core.Open(store, dibs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := reg.Close(); err != nil {
			b.Error(err)
		}
	})
	if _, err := reg.Claim(b.Context(), dibs.Claim{Namespace: "slug", Value: "alice", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
		b.Fatal(err)
	}
	b.Run("registry", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r, err := reg.Resolve(b.Context(), "slug", "alice"); err != nil || r.Status != http.StatusOK {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("registry, 64 at once", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if r, err := reg.Resolve(b.Context(), "slug", "alice"); err != nil || r.Status != http.StatusOK {
					b.Error(r, err)
				}
			}
		})
	})
	cache, err := dibscache.New(reg, dibscache.Config{MaxStale: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cache.Close() }()
	for name, cfg := range map[string]server.Config{
		"server":                 {Registry: reg, Store: store},
		"server, from the cache": {Registry: reg, Store: store, Cache: cache},
	} {
		handler := server.New(cfg)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			request := httptest.NewRequest(http.MethodGet, "/v1/resolve/slug/alice", nil)
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, request)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
