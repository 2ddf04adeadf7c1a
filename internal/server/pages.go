package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// pingTimeout is how long the engine may take to show that it is there.
const pingTimeout = 2 * time.Second

// pages are what is not part of the API: health, metrics, and pages for people.
func (s *Server) pages() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, health{"up"}) })
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.Handle("GET /metrics", s.needs(access.Stats, s.cfg.Metrics.Handler()))
	s.webPages()
}

type health struct {
	Status string `json:"status"`
}

// ready says whether requests can be answered: the engine is there, and the server is
// not about to go.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		writeProblem(w, newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), "the server is about to go"))
		return
	}
	// All who ask at once share a look: anybody may ask, and must not keep the engine busy.
	_, err, _ := s.pings.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), pingTimeout)
		defer cancel()
		return nil, s.ping(ctx)
	})
	if err != nil {
		s.cfg.Logger.Warn("the engine does not answer", "error", err)
		writeProblem(w, newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), "the engine does not answer"))
		return
	}
	writeJSON(w, http.StatusOK, health{"ready"})
}

func (s *Server) ping(ctx context.Context) error {
	if pinger, ok := s.cfg.Store.(dibs.Pinger); ok {
		return pinger.Ping(ctx)
	}
	_, err := s.cfg.Store.Load(ctx, nil)
	return err
}

// needs guards a page that is not part of the API, as the API is guarded.
func (s *Server) needs(verb access.Verb, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, p := s.signIn(r, s.limits.proxies.Visitor(r))
		if p == nil && !caller.May(verb, everywhere) {
			p = s.forbidden(verb, "in all namespaces")
		}
		if p != nil {
			writeProblem(w, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
