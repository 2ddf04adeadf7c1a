package server

import (
	"net/http"

	"github.com/calldibs/dibs/internal/access"
)

// What browsers allow pages of other sites to do. Cookies and certificates are not included: a
// page that signs in sends the header itself.
const (
	allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	allowedHeaders = "Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate"
	exposedHeaders = "ETag, Location, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, Dibs-Entity-Type, Dibs-Entity-Id"
	preflightKept  = "600" // seconds; what is allowed changes only with a restart
)

// origins are the sites whose pages may call the API.
type origins struct {
	named map[string]bool
	// protection detects requests from pages of all other sites.
	protection *http.CrossOriginProtection
}

func newOrigins(list []string) origins {
	o := origins{make(map[string]bool), http.NewCrossOriginProtection()}
	for _, origin := range list {
		if access.CheckOrigin(origin) == nil && o.protection.AddTrustedOrigin(origin) == nil {
			o.named[origin] = true
		}
	}
	return o
}

// answer adds the CORS headers for an origin that is named. It reports whether the request was
// a preflight, which is then answered.
func (o origins) answer(w http.ResponseWriter, r *http.Request) bool {
	if len(o.named) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin") // for other origins too: a cache must not mix them up
	origin := r.Header.Get("Origin")
	if !o.named[origin] {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		return false
	}
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", preflightKept)
	w.WriteHeader(http.StatusNoContent)
	return true
}
