package dibscache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/memstore"
)

// BenchmarkResolve resolves one name after the other, from memory.
func BenchmarkResolve(b *testing.B) {
	cache, names := filledCache(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if r, err := cache.Resolve(b.Context(), "slug", names[i%len(names)]); err != nil || r.Outcome != dibs.ResolveActive {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	cache, names := filledCache(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if a, err := cache.Check(b.Context(), dibs.CheckRequest{Namespace: "slug", Values: names[i%len(names) : i%len(names)+1]}); err != nil || a[0].Available {
			b.Fatal(a, err)
		}
	}
}

// filledCache returns a cache of a registry with ten thousand names.
func filledCache(b *testing.B) (*dibscache.Cache, []string) {
	b.Helper()
	registry, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	cache, err := dibscache.New(registry, dibscache.Config{MaxStale: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cache.Close()
		_ = registry.Close()
	})
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("name-%d", i)
		if _, err := registry.Claim(b.Context(), dibs.Claim{Namespace: "slug", Value: names[i], Entity: user(names[i])}); err != nil {
			b.Fatal(err)
		}
	}
	return cache, names
}
