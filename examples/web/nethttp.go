package main

import (
	"fmt"
	"net/http"

	"github.com/calldibs/dibs/dibshttp"
)

// withNetHTTP serves the site with the standard library only.
func withNetHTTP(names *dibshttp.Names) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })
	mux.HandleFunc("GET /w/{slug}/photos", func(w http.ResponseWriter, r *http.Request) {
		match, _ := dibshttp.FromContext(r.Context())
		fmt.Fprintf(w, "photos of %s", match.Entity)
	})
	return names.Wrap(mux)
}
