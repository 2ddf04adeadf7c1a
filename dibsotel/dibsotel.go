// Package dibsotel tells OpenTelemetry what a registry does, as spans:
//
//	cfg := dibs.Config{}
//	dibsotel.Observe(&cfg, otel.GetTracerProvider())
//	registry, err := embedded.Open(store, cfg)
//
// Each call of the registry is a span below the one in its context: dibs.reserve,
// dibs.resolve. Below it are the calls of the engine, dibs.engine.load and
// dibs.engine.commit. On PostgreSQL package pgotel adds the statements.
//
// Calls that come at the same time share a commit, or a look at the engine. Such a
// dibs.batch or dibs.look is part of the trace of the first caller that is recorded. It
// links to the spans of the others, and they link to it.
//
// No span has a value, a token, an entity or the text of an error in it: attributes are
// the namespace, the outcome by its code, and how many.
package dibsotel

import (
	"context"
	"errors"
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
	// Namespace is where, of a call that says so in one word.
	Namespace = attribute.Key("dibs.namespace")
	// Outcome is "ok", or the error's code in lower case.
	Outcome = attribute.Key("dibs.outcome")
	// Size is how many commands, requests, records or groups it is about.
	Size = attribute.Key("dibs.size")
)

// Observe makes a registry that is opened with the configuration tell what it does. Other
// hooks of the Observer stay; one that is there for the beginning of work is replaced.
func Observe(cfg *dibs.Config, provider trace.TracerProvider) {
	o := observer{provider.Tracer(Scope)}
	cfg.Observer.Begin = o.begin
}

type observer struct{ tracer trace.Tracer }

func (o observer) begin(ctx context.Context, work dibs.Work) (context.Context, func(error)) {
	switch work.Kind {
	case dibs.WorkBatch:
		return o.batch(ctx, work)
	case dibs.WorkEngine:
		// What the registry does by itself is nobody's trace.
		if !trace.SpanFromContext(ctx).IsRecording() {
			return ctx, nobody
		}
		return o.start(ctx, "dibs.engine."+work.Op, work, trace.WithSpanKind(trace.SpanKindClient))
	default:
		return o.start(ctx, "dibs."+work.Op, work)
	}
}

// batch begins the span of what callers share. As part of a caller's trace it is recorded
// whenever that is, whatever the sampler thinks of new traces.
func (o observer) batch(ctx context.Context, work dibs.Work) (context.Context, func(error)) {
	var spans []trace.Span
	for _, caller := range work.Callers {
		if span := trace.SpanFromContext(caller); span.IsRecording() && !contains(spans, span) {
			spans = append(spans, span)
		}
	}
	if len(spans) == 0 {
		return ctx, nobody
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

// contains reports whether a span is the last one of a list already: a sweep hands in a
// thousand requests one after the other.
func contains(spans []trace.Span, span trace.Span) bool {
	n := len(spans)
	return n > 0 && spans[n-1].SpanContext().Equal(span.SpanContext())
}

// start begins a span.
func (o observer) start(ctx context.Context, name string, work dibs.Work, options ...trace.SpanStartOption) (context.Context, func(error)) {
	ctx, span := o.tracer.Start(ctx, name, options...)
	if !span.IsRecording() {
		return ctx, func(error) { span.End() }
	}
	if work.Namespace != "" {
		span.SetAttributes(Namespace.String(short(work.Namespace)))
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

func nobody(error) {}

// maxNamespace is longer than any namespace that is valid.
const maxNamespace = 256

// short cuts off what is no namespace: a caller may have written anything.
func short(namespace string) string {
	if len(namespace) <= maxNamespace {
		return namespace
	}
	return strings.ToValidUTF8(namespace[:maxNamespace], "") + "…"
}

// outcomeOf names an outcome. A refusal is an answer; a fault is not.
func outcomeOf(err error) (outcome string, fault bool) {
	var refused *dibs.Error
	switch {
	case err == nil:
		return "ok", false
	case errors.As(err, &refused):
		fault = refused.Code == dibs.CodeUnavailable || refused.Code == dibs.CodeOutcomeUnknown
		return strings.ToLower(string(refused.Code)), fault
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled", false
	default:
		return "error", true
	}
}
