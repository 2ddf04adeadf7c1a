package server

import (
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs/internal/access"
)

// trusted refuses requests that a browser sends for a page of another site. A server without
// keys has no other protection from them.
func (s *Server) trusted(r *http.Request) *problem {
	if err := s.origins.protection.Check(r); err != nil {
		s.cfg.Metrics.deny(access.CrossOrigin)
		return newProblem(http.StatusForbidden, "CROSS_ORIGIN", "pages of other sites may not change anything here")
	}
	if said := r.Header.Get("Content-Type"); said != "" && said != "application/json" && r.ContentLength != 0 {
		// A form, for example, can send a body that looks like JSON.
		if kind, _, err := mime.ParseMediaType(said); err != nil || kind != "application/json" {
			s.cfg.Metrics.deny(access.NotJSON)
			return newProblem(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "the body must be JSON: send the header \"Content-Type: application/json\"")
		}
	}
	if r.ContentLength >= s.cfg.MaxBody { // before the body is read
		return newProblem(http.StatusRequestEntityTooLarge, codeOf(http.StatusRequestEntityTooLarge),
			fmt.Sprintf("the body has %d bytes; it must have fewer than %d", r.ContentLength, s.cfg.MaxBody))
	}
	protected := strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/metrics"
	// A header without a key does not exempt a request: a page can send any header to its own
	// host name.
	if s.cfg.LocalOnly && protected && bearer(r) == "" && (s.cfg.SignIn == nil || !bySession(r)) && !isLocal(r) {
		s.cfg.Metrics.deny(access.KeyNeeded)
		return newProblem(http.StatusForbidden, "KEY_NEEDED",
			"this server requires an API key except from programs of its own user on this machine that call it as localhost and without a proxy: make a key with \"dibs keys create\"")
	}
	return nil
}

// isLocal reports whether a request is addressed to this machine, and came directly from a
// program of the user that runs the server. A page that rebinds its DNS name to this machine
// sends its own name as Host. A proxy runs as another user, adds headers, or speaks HTTP/1.0, as
// older versions of nginx do; a proxy that does none of this cannot be detected.
func isLocal(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() || !r.ProtoAtLeast(1, 1) || proxied(r.Header) || !loopbackHost(r.Host) {
		return false
	}
	return !connectionOf(r).foreign()
}

// loopbackHost reports whether a Host header names this machine.
func loopbackHost(host string) bool {
	if at, err := netip.ParseAddrPort(host); err == nil {
		return at.Addr().IsLoopback()
	}
	if ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		return ip.IsLoopback() && (host == ip.String() || host == "["+ip.String()+"]")
	}
	name, port, found := strings.Cut(host, ":")
	if found {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
	}
	return name == "localhost"
}

// proxied reports whether there is a header that only proxies add.
func proxied(h http.Header) bool {
	for name := range h {
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if slices.Contains(proxyHeaders, name) ||
			slices.ContainsFunc(proxyWords, func(word string) bool { return strings.Contains(name, word) }) ||
			slices.ContainsFunc(proxyPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return true
		}
	}
	return false
}

// Headers that proxies add: whole names, parts of names, and prefixes of names.
var (
	proxyHeaders  = []string{"via", "x-scheme", "front-end-https", "cdn-loop", "proxy-connection", "surrogate-capability", "x-varnish"}
	proxyWords    = []string{"forwarded", "client-ip", "real-ip", "connecting-ip", "cluster-ip", "remote-addr", "remote-ip", "remote-user", "original-host", "original-ur", "originating-ip", "user-ip", "ssl-client"}
	proxyPrefixes = []string{"cf-", "x-amzn-", "x-amz-cf-", "x-envoy-", "x-azure-", "x-arr-", "x-vercel-", "x-nf-", "fly-", "x-google-", "x-appengine-", "x-akamai-", "x-nginx-", "tailscale-"}
)

// What browsers allow pages of other sites to do. Cookies and certificates are not included: a
// page that signs in sends the header itself.
const (
	allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	allowedHeaders = "Authorization, Cache-Control, Content-Type, Dibs-Redirect, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate"
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
