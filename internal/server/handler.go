package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
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
	if r.Method != http.MethodPost {
		return false
	}
	return r.URL.Path == recanonicalizePath || r.URL.Path == sweepPath || r.URL.Path == forgetPath
}

// notFound answers an unknown path or method with a problem. The handler is the mux's own.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	answer := &headerRecorder{header: make(http.Header)}
	handler.ServeHTTP(answer, r)
	switch answer.status {
	case http.StatusMethodNotAllowed:
		allow := answer.header.Get("Allow")
		w.Header().Set("Allow", allow)
		writeProblem(w, newProblem(answer.status, "METHOD_NOT_ALLOWED", fmt.Sprintf("method %s not allowed; allowed: %s", r.Method, allow)))
	case http.StatusNotFound, 0:
		writeProblem(w, newProblem(http.StatusNotFound, "NOT_FOUND", "no such path: see /docs for all paths"))
	default: // a redirect to the clean path
		handler.ServeHTTP(w, r)
	}
}

// headerRecorder keeps the status and headers of a response.
type headerRecorder struct {
	header http.Header
	status int
}

func (h *headerRecorder) Header() http.Header         { return h.header }
func (h *headerRecorder) WriteHeader(status int)      { h.status = status }
func (h *headerRecorder) Write(b []byte) (int, error) { return len(b), nil }

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
