package server

import (
	"encoding/json"
	"net/http"

	"github.com/calldibs/dibs/internal/access"
)

// registerPages adds what is not part of the API: health, metrics and web pages.
func (s *Server) registerPages() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, status{Status: "up"}) })
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.Handle("GET /metrics", s.needs(access.Stats, s.cfg.Metrics.Handler()))
	s.webPages()
}

// needs demands a right for a page that is not part of the API.
func (s *Server) needs(verb access.Verb, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, p := s.signIn(r, s.limits.proxies.Visitor(r))
		if p == nil && !caller.May(verb, allNamespaces) {
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
