package server

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/calldibs/dibs/internal/access"
)

//go:embed index.html
var index []byte

// pages are what is not part of the API: health, metrics, and pages for people.
func (s *Server) pages() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, status{Status: "up"}) })
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.Handle("GET /metrics", s.needs(access.Stats, s.cfg.Metrics.Handler()))
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(index)
	})
	s.mux.Handle("GET /docs/", v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Dibs", SwaggerJSON: "/openapi.json", BasePath: "/docs/", InternalBasePath: "/docs/",
	}))
	s.mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
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
