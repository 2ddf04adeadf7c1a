package server

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
)

// trusted refuses what a browser sends on behalf of a page that has no business here.
// Where no key is wanted nothing else would keep it out.
func (s *Server) trusted(r *http.Request) *problem {
	if err := s.origins.protection.Check(r); err != nil {
		s.cfg.Metrics.deny(access.CrossOrigin)
		return newProblem(http.StatusForbidden, "CROSS_ORIGIN", "pages of other sites may change nothing here")
	}
	if said := r.Header.Get("Content-Type"); said != "" && r.ContentLength != 0 {
		// What a form sends, for one, is no JSON, whatever it looks like.
		if kind, _, err := mime.ParseMediaType(said); err != nil || kind != "application/json" {
			s.cfg.Metrics.deny(access.NotJSON)
			return newProblem(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "a body is JSON: send the header \"Content-Type: application/json\"")
		}
	}
	if r.ContentLength >= s.cfg.MaxBody { // before it is waited for
		return newProblem(http.StatusRequestEntityTooLarge, codeOf(http.StatusRequestEntityTooLarge),
			fmt.Sprintf("the body has %d bytes, it must have fewer than %d", r.ContentLength, s.cfg.MaxBody))
	}
	telling := strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/metrics"
	// A header that has no key in it lets nobody in, so it excuses nobody either: a page can send
	// any that it likes to its own name.
	if s.cfg.LocalOnly && telling && bearer(r) == "" && !isLocal(r) {
		s.cfg.Metrics.deny(access.KeyNeeded)
		return newProblem(http.StatusForbidden, "KEY_NEEDED",
			"without an API key this server answers only to localhost, called straight and not through a proxy: make a key with \"dibs keys create\"")
	}
	return nil
}

// isLocal reports whether a request was meant for this machine, and came straight to it. A
// page whose name leads here for a moment says its own name; a proxy mostly says for whom
// it asks, or speaks HTTP/1.0 as nginx does unless it is told otherwise. A proxy that does
// neither cannot be told apart.
func isLocal(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || !r.ProtoAtLeast(1, 1) || proxied(r.Header) {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// proxied reports whether a header is there that only proxies add.
func proxied(h http.Header) bool {
	for name := range h {
		if slices.Contains(proxyHeaders, name) || slices.ContainsFunc(proxyPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return true
		}
	}
	return false
}

var (
	proxyHeaders = []string{
		"Via", "Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Originating-Ip", "X-Remote-Addr", "X-Remote-Ip", "X-Proxy-User-Ip",
		"True-Client-Ip", "Fastly-Client-Ip", "Client-Ip", "X-Original-Host", "X-Original-Url", "X-Original-Uri", "X-Scheme", "Front-End-Https", "Cdn-Loop",
		"Proxy-Connection", "Surrogate-Capability",
	}
	proxyPrefixes = []string{"X-Forwarded", "Cf-", "X-Amzn-", "X-Amz-Cf-", "X-Envoy-", "X-Azure-", "X-Arr-", "X-Vercel-", "Fly-", "X-Google-", "X-Appengine-", "X-Akamai-", "X-Nginx-"}
)
