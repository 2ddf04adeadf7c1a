package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// statusClientGone is what is counted for a request that its client gave up: it is no
// fault of the server's.
const statusClientGone = 499

// wrap adds to the mux what every request needs: a deadline, admission, recovery from panics,
// problems for unknown paths, logs and metrics.
func (s *Server) wrap(next *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		out := &recorder{ResponseWriter: w}
		r = s.traced(r)
		asked := r // its context ends when the client goes, and not with the deadline below
		r, body, cancel := s.withDeadline(w, r, start)
		out.body = body
		defer func() {
			cancel()
			body.leave()
			s.finish(out, asked, start, recover())
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
			s.notThere(out, r, handler)
			return
		}
		if p := s.trusted(r); p != nil {
			writeProblem(out, p)
			return
		}
		next.ServeHTTP(out, r)
	})
}

// streaming reports whether the request is for a stream, which lasts. What it accepts is
// the client's own word: anywhere else nobody is spared the deadline for it.
func streaming(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == eventsPath && strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
}

// lasting reports whether the request is for work that takes as long as there is to do.
// The client may end it.
func lasting(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	return r.URL.Path == recanonicalizePath || r.URL.Path == sweepPath || r.URL.Path == forgetPath
}

// notThere answers for a path or a method that there is not: as a problem, like
// everything else.
func (s *Server) notThere(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	answer := &headOnly{header: make(http.Header)}
	handler.ServeHTTP(answer, r)
	switch answer.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", answer.header.Get("Allow"))
		writeProblem(w, newProblem(answer.status, "METHOD_NOT_ALLOWED",
			fmt.Sprintf("%s is not possible here, but %s", r.Method, answer.header.Get("Allow"))))
	case http.StatusNotFound, 0:
		writeProblem(w, newProblem(http.StatusNotFound, "NOT_FOUND", "there is nothing at this path: /docs lists what there is"))
	default: // a path that is written otherwise
		handler.ServeHTTP(w, r)
	}
}

// headOnly keeps the head of an answer.
type headOnly struct {
	header http.Header
	status int
}

func (h *headOnly) Header() http.Header         { return h.header }
func (h *headOnly) WriteHeader(status int)      { h.status = status }
func (h *headOnly) Write(b []byte) (int, error) { return len(b), nil }

// finish ends a request: whatever went wrong inside is answered, counted and logged.
func (s *Server) finish(w *recorder, r *http.Request, start time.Time, panicked any) {
	if panicked != nil {
		if err, ok := panicked.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(panicked)
		}
		s.cfg.Logger.Error("a request panicked", "panic", fmt.Sprint(panicked), "route", w.route, "stack", string(debug.Stack()))
		if w.status == 0 {
			writeProblem(w, newProblem(http.StatusInternalServerError, "INTERNAL", "something went wrong inside; the server's log says what"))
		}
	}
	took := time.Since(start)
	route, status := w.route, w.status
	if route == "" {
		route = "none"
	}
	if status == http.StatusServiceUnavailable && r.Context().Err() != nil {
		status = statusClientGone
	}
	s.cfg.Metrics.requests(route, status, took)
	trace := endTrace(r.Context(), r.Method, route, status)
	level := slog.LevelDebug
	if status >= 500 && status != http.StatusServiceUnavailable && !w.shed { // those are told now and then, and not of each
		level = slog.LevelWarn
	}
	// Neither path nor query: values are in there.
	s.cfg.Logger.Log(r.Context(), level, "request",
		append([]any{"route", route, "status", status, "ms", took.Milliseconds(), "bytes", w.bytes}, trace...)...)
}

// recorder notes what was answered.
type recorder struct {
	http.ResponseWriter
	body   *requestBody // of the request
	route  string
	status int
	bytes  int64
	shed   bool // it was turned away, because there is too much to do
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.body.leave()
		if h := r.Header(); h.Get("Cache-Control") == "" {
			h.Set("Cache-Control", "no-store") // nobody keeps what does not say for how long
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
