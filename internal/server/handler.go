package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// wrap adds to the mux what every request needs: a deadline, admission, recovery from panics,
// problems for unknown paths, logs and metrics.
func (s *Server) wrap(next *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		out := &recorder{ResponseWriter: w}
		r = s.traced(r)
		original := r // its context ends when the client disconnects, not at the deadline below
		r, body, cancel := s.withDeadline(w, r, start)
		out.body = body
		defer func() {
			cancel()
			body.abandon()
			s.finish(out, original, start, recover())
		}()
		out.Header().Set("X-Content-Type-Options", "nosniff")
		if s.draining.Load() {
			out.Header().Set("Connection", "close")
		}
		if s.origins.answer(out, r) {
			return
		}
		handler, pattern := next.Handler(r)
		out.route = pattern
		leave, p := s.admit(out, r)
		if p != nil {
			writeProblem(out, p)
			return
		}
		defer leave()
		if pattern == "" {
			s.notFound(out, r, handler)
			return
		}
		if p := s.trusted(r); p != nil {
			writeProblem(out, p)
			return
		}
		next.ServeHTTP(out, r)
	})
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

// notFound answers an unknown path or method with a problem, and an unclean path with the redirect
// of the mux's own handler.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	out := &errorFilter{ResponseWriter: w}
	handler.ServeHTTP(out, r)
	switch out.status {
	case http.StatusMethodNotAllowed:
		detail := fmt.Sprintf("method %s not allowed; allowed: %s", r.Method, w.Header().Get("Allow"))
		writeProblem(w, newProblem(out.status, "METHOD_NOT_ALLOWED", detail))
	case http.StatusNotFound:
		writeProblem(w, newProblem(out.status, "NOT_FOUND", "no such path: see /docs for all paths"))
	}
}

// finish answers a panic, and counts and logs the request.
func (s *Server) finish(w *recorder, r *http.Request, start time.Time, panicked any) {
	if panicked != nil {
		if err, ok := panicked.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(panicked)
		}
		s.cfg.Logger.Error("request panicked", "panic", fmt.Sprint(panicked), "route", w.route, "stack", string(debug.Stack()))
		if w.status == 0 {
			writeProblem(w, newProblem(http.StatusInternalServerError, "INTERNAL", "internal error; see the server's log"))
		}
	}
	took := time.Since(start)
	route, status := cmp.Or(w.route, "none"), w.status
	if status == http.StatusServiceUnavailable && r.Context().Err() != nil {
		status = statusClientGone
	}
	s.cfg.Metrics.requests(route, status, took)
	trace := endTrace(r.Context(), r.Method, route, status)
	level := slog.LevelDebug
	if status >= 500 && status != http.StatusServiceUnavailable && !w.shed { // those are logged at most every few seconds
		level = slog.LevelWarn
	}
	// Neither path nor query: they contain values.
	s.cfg.Logger.Log(r.Context(), level, "request",
		append([]any{"route", route, "status", status, "ms", took.Milliseconds(), "bytes", w.bytes}, trace...)...)
}

// recorder records what was answered.
type recorder struct {
	http.ResponseWriter
	body   *requestBody // of the request
	route  string
	status int
	bytes  int64
	shed   bool // rejected, because the server is overloaded
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.body.abandon()
		if h := r.Header(); h.Get("Cache-Control") == "" {
			h.Set("Cache-Control", "no-store")
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// unreadTimeout is how long a client may take to send the rest of a body that the server does
// not read. A client that takes longer loses its connection.
const unreadTimeout = time.Second

// withDeadline bounds the time for a request's body to arrive, for the work, and for the client
// to accept the response. The work of an unbounded request is bounded only until its caller is
// authenticated, see [Server.authenticate].
func (s *Server) withDeadline(w http.ResponseWriter, r *http.Request, start time.Time) (*http.Request, *requestBody, context.CancelFunc) {
	deadline := start.Add(s.cfg.RequestTimeout)
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(deadline.Add(s.cfg.RequestTimeout)) // leaves time to send a problem about the deadline
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if !unbounded(r) {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	r = r.WithContext(ctx)
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil, cancel
	}
	_ = control.SetReadDeadline(deadline)
	body := &requestBody{ReadCloser: r.Body, control: control, unreadTimeout: min(unreadTimeout, s.cfg.RequestTimeout)}
	r.Body = body
	return r, body, cancel
}

// unbounded reports whether a request may take longer than the request timeout.
func unbounded(r *http.Request) bool { return streaming(r) || longRunning(r) }

// requestBody is a body that must arrive by a deadline. Nil means that there is no body.
type requestBody struct {
	io.ReadCloser
	control       *http.ResponseController
	unreadTimeout time.Duration
	ended         bool // it was read to its end
	abandoned     bool // the rest is not needed
}

// Read clears the deadline at the end of the body. From then on net/http itself reads from the
// connection, to notice a disconnect; a deadline would cancel the contexts of this request and
// of every later one on the connection.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// abandon shortens the deadline for what was not read: net/http reads the rest of a body before
// it sends a response.
func (b *requestBody) abandon() {
	if b != nil && !b.ended && !b.abandoned {
		b.abandoned = true
		_ = b.control.SetReadDeadline(time.Now().Add(b.unreadTimeout))
	}
}

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
