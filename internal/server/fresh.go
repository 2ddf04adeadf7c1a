package server

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
)

// reader answers queries that allow a stale answer: the registry, or a cache in front of it.
type reader interface {
	Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error)
	Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error)
}

type freshKey struct{}

// freshness notes whether a request asks for a fresh answer by Cache-Control: no-cache.
func (s *Server) freshness(ctx huma.Context, next func(huma.Context)) {
	if s.cfg.Cache != nil && strings.Contains(strings.ToLower(ctx.Header("Cache-Control")), "no-cache") {
		ctx = huma.WithValue(ctx, freshKey{}, true)
	}
	next(ctx)
}

// reader returns the cache if there is one and the request allows it, else the registry.
func (s *Server) reader(ctx context.Context) reader {
	if s.cfg.Cache == nil || ctx.Value(freshKey{}) != nil {
		return s.registry(ctx)
	}
	return s.cfg.Cache
}

// cacheMetrics returns the metrics of a cache.
func cacheMetrics(cache *dibscache.Cache) []prometheus.Collector {
	counter := func(name, help string, value func(dibscache.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(cache.Stats())) })
	}
	gauge := func(name, help string, value func(dibscache.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(cache.Stats()) })
	}
	return []prometheus.Collector{
		counter("dibs_cache_hits_total", "Answers from memory.", func(s dibscache.Stats) uint64 { return s.Hits }),
		counter("dibs_cache_misses_total", "Answers from the engine.", func(s dibscache.Stats) uint64 { return s.Misses }),
		gauge("dibs_cache_bytes", "Approximate memory of the answers.", func(s dibscache.Stats) float64 { return float64(s.Bytes) }),
		gauge("dibs_cache_lag_seconds", "Time since the cache last read the feed to its end; beyond maxStale it answers nothing from memory.", func(s dibscache.Stats) float64 { return s.Lag.Seconds() }),
	}
}
