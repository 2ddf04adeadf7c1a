package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// counted counts the spans that end and those that the collector took. What lies between
// is lost, or still in the queue.
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
			Name: "dibs_trace_spans_total", Help: "Spans that were recorded.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dibs_trace_spans_sent_total", Help: "Of them, those that the collector took. The others are lost, or wait: 2,048 at the most.",
		}),
	}
}

// OnStart does nothing: counted is a processor of spans for their end alone.
func (*counted) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd counts a span.
func (c *counted) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		c.ended.Inc()
	}
}

// ForceFlush does nothing: nothing is kept here.
func (*counted) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing: the exporter is closed by who sends.
func (*counted) Shutdown(context.Context) error { return nil }

// exporter returns the exporter whose successes are counted.
func (c *counted) exporter() sdktrace.SpanExporter { return sender{c} }

// sender counts what was sent. It logs when sending begins to fail and when it works
// again, and nothing in between.
type sender struct{ *counted }

// ExportSpans sends spans. It never fails: there is nobody who could do more about it.
func (s sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		if !s.failing.Swap(true) {
			s.log.Warn("traces cannot be sent, and are dropped until they can", "error", err)
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
