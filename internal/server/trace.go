package server

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/calldibs/dibs/dibsotel"
)

// The attributes of a request's span, by OpenTelemetry's conventions for HTTP. Of those,
// url.path is left out: values are in there.
const (
	methodKey = attribute.Key("http.request.method")
	routeKey  = attribute.Key("http.route")
	statusKey = attribute.Key("http.response.status_code")
)

// callersTrace reads the trace that a request is part of, as W3C has it.
var callersTrace = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// traced returns the request with its span, if it is to have one. Pages and probes have
// none, nor have streams: nobody looks at a span of hours with a child for every poll.
func (s *Server) traced(r *http.Request) *http.Request {
	if s.cfg.TracerProvider == nil || streaming(r) || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return r
	}
	ctx := callersTrace.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, _ = s.cfg.TracerProvider.Tracer(dibsotel.Scope+"/server").Start(ctx, knownMethod(r.Method), trace.WithSpanKind(trace.SpanKindServer))
	return r.WithContext(ctx)
}

// endTrace ends the span of a request, and returns what the log says of it.
func endTrace(ctx context.Context, method, route string, status int) []any {
	span := trace.SpanFromContext(ctx)
	if !span.SpanContext().IsValid() {
		return nil
	}
	if span.IsRecording() {
		span.SetName(route)
		span.SetAttributes(methodKey.String(knownMethod(method)), routeKey.String(pathOf(route)), statusKey.Int(status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(otelcodes.Error, http.StatusText(status))
		}
	}
	span.End()
	return []any{"trace", span.SpanContext().TraceID().String()}
}

// knownMethod returns a method, or _OTHER for one that the caller has made up: what is
// grouped by it must not grow without bound.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "_OTHER"
	}
}

// pathOf returns the path of a route, which begins with a method.
func pathOf(route string) string {
	_, path, found := strings.Cut(route, " ")
	if !found {
		return route
	}
	return path
}
