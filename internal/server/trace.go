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

// The attributes of a request's span, by OpenTelemetry's conventions for HTTP, without url.path:
// it contains values.
const (
	methodKey = attribute.Key("http.request.method")
	routeKey  = attribute.Key("http.route")
	statusKey = attribute.Key("http.response.status_code")
)

// callersTrace reads the trace context of a request, by the W3C format.
var callersTrace = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// traced starts the span of a request of the API. Pages, probes and streams have none: a
// stream's span would last for hours and have a child for every poll.
func (s *Server) traced(r *http.Request) *http.Request {
	if s.cfg.TracerProvider == nil || streaming(r) || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return r
	}
	ctx := callersTrace.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, _ = s.cfg.TracerProvider.Tracer(dibsotel.Scope+"/server").Start(ctx, knownMethod(r.Method), trace.WithSpanKind(trace.SpanKindServer))
	return r.WithContext(ctx)
}

// endTrace ends the span of a request, and returns its trace id as attributes for the log.
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

// knownMethod returns a standard method, or _OTHER: the set of attribute values must stay small.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "_OTHER"
	}
}

// pathOf returns a route without its method.
func pathOf(route string) string { return route[strings.IndexByte(route, ' ')+1:] }
