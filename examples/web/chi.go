package main

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/calldibs/dibs/dibshttp"
)

// withChi serves the site with chi, which takes middleware of net/http.
func withChi(names *dibshttp.Names) http.Handler {
	router := chi.NewRouter()
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })
	router.Route("/w/{slug}", func(wedding chi.Router) {
		wedding.Use(names.Wrap)
		wedding.Get("/photos", func(w http.ResponseWriter, r *http.Request) {
			match, _ := dibshttp.FromContext(r.Context())
			fmt.Fprintf(w, "photos of %s", match.Entity)
		})
	})
	return router
}
