package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// counted counts the spans that ended and those that the collector accepted. The difference is
// lost, or still in the queue.
type counted struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	ended   prometheus.Counter
	sent    prometheus.Counter
	failing atomic.Bool
}

func newCounted(exporter sdktrace.SpanExporter, log *slog.Logger) *counted {
	return &counted{
		SpanExporter: exporter, log: log,
		ended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dibs_trace_spans_total", Help: "Recorded spans.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dibs_trace_spans_sent_total", Help: "Recorded spans that the collector accepted. The others are lost, or wait: 2,048 at most.",
		}),
	}
}

// OnStart does nothing.
func (*counted) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd counts a sampled span.
func (c *counted) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		c.ended.Inc()
	}
}

// ForceFlush does nothing: counted keeps no spans.
func (*counted) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing: sender closes the exporter.
func (*counted) Shutdown(context.Context) error { return nil }

// exporter returns an exporter that counts its successes.
func (c *counted) exporter() sdktrace.SpanExporter { return sender{c} }

// sender counts the spans that were sent. It logs when sending begins to fail and when it works
// again.
type sender struct{ *counted }

// ExportSpans sends spans. It returns no error: its caller could not handle one.
func (s sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		if !s.failing.Swap(true) {
			s.log.Warn("traces cannot be sent and are dropped", "error", err)
		}
		return nil
	}
	s.sent.Add(float64(len(spans)))
	if s.failing.Swap(false) {
		s.log.Info("traces are sent again")
	}
	return nil
}

// Shutdown closes the exporter.
func (s sender) Shutdown(ctx context.Context) error { return s.SpanExporter.Shutdown(ctx) }
