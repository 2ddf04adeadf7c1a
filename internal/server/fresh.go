package server

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
)

// reader is who answers questions that may be answered from the past: the registry itself,
// or a cache before it.
type reader interface {
	Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error)
	Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error)
}

type freshKey struct{}

// freshness notes whether a request wants to know what is so now, as HTTP has it:
// Cache-Control: no-cache.
func (s *Server) freshness(ctx huma.Context, next func(huma.Context)) {
	if s.cfg.Cache != nil && strings.Contains(strings.ToLower(ctx.Header("Cache-Control")), "no-cache") {
		ctx = huma.WithValue(ctx, freshKey{}, true)
	}
	next(ctx)
}

// reader returns the cache, if there is one and the request allows it.
func (s *Server) reader(ctx context.Context) reader {
	if s.cfg.Cache == nil || ctx.Value(freshKey{}) != nil {
		return s.registry(ctx)
	}
	return s.cfg.Cache
}

// cacheFigures shows how a cache fares.
func cacheFigures(cache *dibscache.Cache) []prometheus.Collector {
	counter := func(name, help string, value func(dibscache.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(cache.Stats())) })
	}
	gauge := func(name, help string, value func(dibscache.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(cache.Stats()) })
	}
	return []prometheus.Collector{
		counter("dibs_cache_hits_total", "Answers from memory.", func(s dibscache.Stats) uint64 { return s.Hits }),
		counter("dibs_cache_misses_total", "Answers for which the engine had to be asked.", func(s dibscache.Stats) uint64 { return s.Misses }),
		gauge("dibs_cache_bytes", "How much memory the answers take, about.", func(s dibscache.Stats) float64 { return float64(s.Bytes) }),
		gauge("dibs_cache_lag_seconds", "How long ago the feed was known to its end; beyond maxStale nothing is answered from memory.", func(s dibscache.Stats) float64 { return s.Lag.Seconds() }),
	}
}
