// Package dibsotel traces a registry with OpenTelemetry:
//
//	cfg := dibs.Config{}
//	dibsotel.Observe(&cfg, otel.GetTracerProvider())
//	registry, err := embedded.Open(store, cfg)
//
// Each call of the registry is a child span of the one in its context: dibs.reserve,
// dibs.resolve. Its children are the calls of the engine, dibs.engine.load and
// dibs.engine.commit. On PostgreSQL, package pgotel adds the statements.
//
// Concurrent calls share a commit or a read of the engine. The span of such a dibs.batch or
// dibs.read is in the trace of the first caller that is recorded. It links to the spans of
// the others, and they link to it.
//
// No span contains a value, a token, an entity or the text of an error. The attributes are
// the namespace, the code of the outcome, and a count.
package dibsotel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/calldibs/dibs"
)

// Scope is the name of the instrumentation scope of all spans.
const Scope = "github.com/calldibs/dibs"

// The attributes of spans.
const (
	// Namespace is the namespace of a call that is about one.
	Namespace = attribute.Key("dibs.namespace")
	// Outcome is "ok", or the error's code in lower case.
	Outcome = attribute.Key("dibs.outcome")
	// Size is the number of commands, requests, records or groups.
	Size = attribute.Key("dibs.size")
)

// Observe makes a registry that is opened with the configuration record spans. It replaces
// the hook Begin of the Observer, and leaves the other hooks.
func Observe(cfg *dibs.Config, provider trace.TracerProvider) {
	cfg.Observer.Begin = observer{provider.Tracer(Scope)}.begin
}

type observer struct{ tracer trace.Tracer }

func (o observer) begin(ctx context.Context, work dibs.Work) (context.Context, func(error)) {
	switch work.Kind {
	case dibs.WorkBatch:
		return o.batch(ctx, work)
	case dibs.WorkEngine:
		// Background work of the registry is in no trace.
		if !trace.SpanFromContext(ctx).IsRecording() {
			return ctx, noSpan
		}
		return o.start(ctx, "dibs.engine."+work.Op, work, trace.WithSpanKind(trace.SpanKindClient))
	default:
		return o.start(ctx, "dibs."+work.Op, work)
	}
}

// batch starts the span of work that callers share. It is in a caller's trace, so it is
// recorded whenever that is, whatever the sampler decides about new traces.
func (o observer) batch(ctx context.Context, work dibs.Work) (context.Context, func(error)) {
	var spans []trace.Span
	for _, caller := range work.Callers {
		if span := trace.SpanFromContext(caller); span.IsRecording() {
			spans = append(spans, span)
		}
	}
	// A sweep submits a thousand requests in a row, all with one span.
	spans = slices.CompactFunc(spans, func(a, b trace.Span) bool { return a.SpanContext().Equal(b.SpanContext()) })
	if len(spans) == 0 {
		return ctx, noSpan
	}
	links := make([]trace.Link, 0, len(spans)-1)
	for _, span := range spans[1:] {
		links = append(links, trace.Link{SpanContext: span.SpanContext()})
	}
	ctx, end := o.start(trace.ContextWithSpan(ctx, spans[0]), "dibs."+work.Op, work, trace.WithLinks(links...))
	shared := trace.Link{SpanContext: trace.SpanContextFromContext(ctx)}
	for _, span := range spans[1:] {
		span.AddLink(shared)
	}
	return ctx, end
}

func (o observer) start(ctx context.Context, name string, work dibs.Work, options ...trace.SpanStartOption) (context.Context, func(error)) {
	ctx, span := o.tracer.Start(ctx, name, options...)
	if !span.IsRecording() {
		return ctx, func(error) { span.End() }
	}
	if work.Namespace != "" {
		span.SetAttributes(Namespace.String(shorten(work.Namespace)))
	}
	if work.Size > 0 {
		span.SetAttributes(Size.Int(work.Size))
	}
	return ctx, func(err error) {
		outcome, fault := outcomeOf(err)
		span.SetAttributes(Outcome.String(outcome))
		if fault {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}

func noSpan(error) {}

// shorten limits the length of a namespace, which may be invalid.
func shorten(namespace string) string {
	const maxNamespace = 256 // longer than any valid one
	if len(namespace) <= maxNamespace {
		return namespace
	}
	return strings.ToValidUTF8(namespace[:maxNamespace], "") + "…"
}

// outcomeOf returns the name of an outcome, and whether it is a fault. A refusal is not one.
func outcomeOf(err error) (outcome string, fault bool) {
	refused, ok := errors.AsType[*dibs.Error](err)
	switch {
	case err == nil:
		return "ok", false
	case ok:
		fault = refused.Code == dibs.CodeUnavailable || refused.Code == dibs.CodeOutcomeUnknown
		return strings.ToLower(string(refused.Code)), fault
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled", false
	default:
		return "error", true
	}
}
