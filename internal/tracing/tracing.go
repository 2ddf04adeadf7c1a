// Package tracing sends the traces of a server to a collector, by OTLP over HTTP.
//
// A collector that is slow or down does not slow the server: spans wait in a bounded queue, and
// are dropped when it is full. Metrics count them; the log has the start and the end.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	// queue is how many spans can wait for the collector, and batch how many are sent at once.
	queue, batch = 2048, 512
	// exportTimeout is how long sending a batch may take, with retries.
	exportTimeout = 10 * time.Second
	// stopTimeout is how long a server that stops may take to send the last spans.
	stopTimeout = 3 * time.Second

	tracesPath = "/v1/traces"
)

// Config configures tracing. The zero Config means no tracing.
type Config struct {
	// Endpoint is the collector's URL, such as http://collector:4318. Empty means no tracing.
	Endpoint string
	// Sample is the share of requests to trace, 0 to 1, among those whose caller has not
	// decided.
	Sample float64
	// ServiceName is the name of the server in traces.
	ServiceName string
	// Headers are sent to the collector. They may be secret.
	Headers map[string]string
	// HeadersFile is the path of a file with more headers, a "Name: value" on each line.
	HeadersFile string
}

// CheckEndpoint returns what is wrong with a collector's URL.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("must be the URL of a collector, like http://collector:4318")
	case u.User != nil:
		return fmt.Errorf("must not contain a password: use headersFile")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("must not have a query or a fragment")
	}
	return nil
}

// Tracing traces a server. A nil Tracing is off.
type Tracing struct {
	provider *sdktrace.TracerProvider
	counters []prometheus.Collector
}

// Start starts tracing. Without an endpoint it returns nil. It does not wait for the collector.
func Start(ctx context.Context, cfg Config, log *slog.Logger) (*Tracing, error) {
	if cfg.Endpoint == "" {
		return nil, nil
	}
	headers, err := cfg.headers()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(withPath(cfg.Endpoint)),
		otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithTimeout(exportTimeout),
	)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv(),
		resource.WithAttributes(attribute.String("service.name", cfg.ServiceName)))
	if err != nil {
		log.Warn("traces lack some attributes of this machine", "error", err)
	}
	ended := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dibs_trace_spans_total", Help: "Recorded spans.",
	})
	sent := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dibs_trace_spans_sent_total", Help: "Recorded spans that the collector accepted. The others are lost, or wait: 2,048 at most.",
	})
	batches := sdktrace.NewBatchSpanProcessor(&sender{SpanExporter: exporter, log: log, sent: sent},
		sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(batch), sdktrace.WithExportTimeout(exportTimeout))
	return &Tracing{
		counters: []prometheus.Collector{ended, sent},
		provider: sdktrace.NewTracerProvider(
			sdktrace.WithResource(about),
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Sample))),
			sdktrace.WithSpanProcessor(ender{batches, ended}),
		),
	}, nil
}

// ender counts the spans that end. The difference to those that sender counts is lost, or still in
// the queue.
type ender struct {
	sdktrace.SpanProcessor
	ended prometheus.Counter
}

// OnEnd counts a sampled span.
func (e ender) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		e.ended.Inc()
	}
	e.SpanProcessor.OnEnd(span)
}

// sender counts the spans that the collector accepted. It logs when sending begins to fail and when
// it works again.
type sender struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	sent    prometheus.Counter
	failing atomic.Bool
}

// ExportSpans sends spans. It returns no error: its caller could not handle one.
func (s *sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
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

// Provider returns the provider of tracers; nil if tracing is off.
func (t *Tracing) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Register registers the metrics.
func (t *Tracing) Register(metrics prometheus.Registerer) error {
	if t == nil {
		return nil
	}
	for _, c := range t.counters {
		if err := metrics.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Stop sends the last spans, for up to 3 seconds.
func (t *Tracing) Stop(log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		log.Warn("the last traces were not sent", "error", err)
	}
}

// withPath adds the default path to a URL without one.
func withPath(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && strings.Trim(u.Path, "/") == "" {
		return strings.TrimRight(endpoint, "/") + tracesPath
	}
	return endpoint
}

// headers returns the headers of the configuration and of the file.
func (c Config) headers() (map[string]string, error) {
	headers := make(map[string]string)
	maps.Copy(headers, c.Headers)
	if c.HeadersFile == "" {
		return headers, nil
	}
	text, err := os.ReadFile(c.HeadersFile)
	if err != nil {
		return nil, fmt.Errorf("tracing.headersFile: %w", err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		name, value, found := strings.Cut(line, ":")
		switch {
		case found:
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		case strings.TrimSpace(line) != "": // it may be a secret: do not show it
			return nil, fmt.Errorf(`tracing.headersFile: line %d of %s has no colon: write "Name: value"`, i+1, c.HeadersFile)
		}
	}
	return headers, nil
}
