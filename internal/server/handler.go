package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/calldibs/dibs/dibsotel"
)

// statusClientGone is the status in metrics for a request whose client disconnected: it is not
// a failure of the server.
const statusClientGone = 499

// ServeHTTP answers a request. To every request it adds a deadline, admission, recovery from
// panics, problems for unknown paths, logs and metrics.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, r := s.newExchange(w, s.traced(r))
	defer func() {
		x.end()
		s.finish(x, r.Method, recover())
	}()
	x.Header()["X-Content-Type-Options"] = noSniff
	if s.draining.Load() {
		x.Header().Set("Connection", "close")
	}
	if s.origins.answer(x, r) {
		return
	}
	if s.mux.ServeHTTP(&x.routing, r); !x.routing.found {
		s.unrouted(x, r)
	}
}

// handle adds a route.
func (s *Server) handle(pattern string, handler func(*exchange, *http.Request)) {
	route := s.cfg.Metrics.route(pattern)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		routing := w.(*routing)
		routing.found = true
		x := routing.exchange
		x.route = route
		leave, p := s.admit(x, r)
		if p != nil {
			writeProblem(x, p)
			return
		}
		defer leave()
		if p := s.trusted(r); p != nil {
			writeProblem(x, p)
			return
		}
		handler(x, r)
	})
}

// unrouted answers a request without a handler: an unknown path or method with a problem, and an
// unclean path with the redirect of the mux's own handler.
func (s *Server) unrouted(x *exchange, r *http.Request) {
	leave, p := s.admit(x, r)
	if p != nil {
		writeProblem(x, p)
		return
	}
	defer leave()
	switch x.routing.status {
	case http.StatusMethodNotAllowed:
		allowed := x.routing.header.Get("Allow")
		x.Header().Set("Allow", allowed)
		detail := fmt.Sprintf("method %s not allowed; allowed: %s", r.Method, allowed)
		writeProblem(x, newProblem(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", detail))
	case http.StatusNotFound:
		writeProblem(x, newProblem(http.StatusNotFound, "NOT_FOUND", "no such path: see /docs for all paths"))
	default:
		s.redirect(x, r)
	}
}

// redirect redirects from an unclean path.
func (s *Server) redirect(x *exchange, r *http.Request) {
	handler, pattern := s.mux.Handler(r)
	if pattern != "" {
		x.route = s.cfg.Metrics.route(pattern)
		if p := s.trusted(r); p != nil {
			writeProblem(x, p)
			return
		}
	}
	handler.ServeHTTP(x, r)
}

// streaming reports whether the request is for the event stream. The path is checked because a
// client can send any Accept header to avoid the deadline.
func streaming(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == eventsPath && strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
}

// longRunning reports whether the request is for work without a time limit. The client can
// cancel it.
func longRunning(r *http.Request) bool {
	return r.Method == http.MethodPost && slices.Contains([]string{recanonicalizePath, sweepPath, forgetPath}, r.URL.Path)
}

// finish answers a panic, and counts and logs the request.
func (s *Server) finish(x *exchange, method string, panicked any) {
	if panicked != nil {
		if err, ok := panicked.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(panicked)
		}
		s.cfg.Logger.Error("request panicked", "panic", fmt.Sprint(panicked), "route", x.route.name, "stack", string(debug.Stack()))
		if x.status == 0 {
			writeProblem(x, newProblem(http.StatusInternalServerError, "INTERNAL", "internal error; see the server's log"))
		}
	}
	ctx := x.context.Context // it ends when the client disconnects, not at the deadline
	took := time.Since(x.start)
	status := x.status
	if status == http.StatusServiceUnavailable && ctx.Err() != nil {
		status = statusClientGone
	}
	x.route.count(status, took)
	var trace []any
	if s.cfg.TracerProvider != nil {
		trace = endTrace(ctx, method, x.route.name, status)
	}
	level := slog.LevelDebug
	if status >= 500 && status != http.StatusServiceUnavailable && !x.shed { // those are logged at most every few seconds
		level = slog.LevelWarn
	}
	if !s.cfg.Logger.Enabled(ctx, level) {
		return
	}
	// Neither path nor query: they contain values.
	s.cfg.Logger.Log(ctx, level, "request",
		append([]any{"route", x.route.name, "status", status, "ms", took.Milliseconds(), "bytes", x.bytes}, trace...)...)
}

// unbounded reports whether a request may take longer than the request timeout.
func unbounded(r *http.Request) bool { return streaming(r) || longRunning(r) }

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

func pathOf(route string) string { return route[strings.IndexByte(route, ' ')+1:] }
