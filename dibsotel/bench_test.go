package dibsotel_test

import (
	"context"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsotel"
	"github.com/calldibs/dibs/memstore"
)

// BenchmarkResolve measures a call without an observer, one that is not sampled, and one
// that is.
func BenchmarkResolve(b *testing.B) {
	observe := func(sampler sdktrace.Sampler) func(*dibs.Config) {
		return func(cfg *dibs.Config) {
			dibsotel.Observe(cfg, sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)))
		}
	}
	for _, c := range []struct {
		name   string
		change func(*dibs.Config)
	}{
		{"off", func(*dibs.Config) {}},
		{"not sampled", observe(sdktrace.NeverSample())},
		{"sampled", observe(sdktrace.AlwaysSample())},
	} {
		b.Run(c.name, func(b *testing.B) {
			var cfg dibs.Config
			c.change(&cfg)
			registry, err := core.Open(memstore.New(memstore.Config{}), cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = registry.Close() }()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := registry.Resolve(context.Background(), "slug", "a"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
