package server

import (
	"mime"
	"net"
	"net/http"
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
	telling := strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/metrics"
	// A header that has no key in it lets nobody in, so it excuses nobody either: a page can send
	// any that it likes to its own name.
	if s.cfg.LocalOnly && telling && bearer(r) == "" && !isLocal(r) {
		s.cfg.Metrics.deny(access.KeyNeeded)
		return newProblem(http.StatusForbidden, "KEY_NEEDED",
			"without an API key this server answers to localhost alone: call it so, or make a key with \"dibs keys create\"")
	}
	return nil
}

// isLocal reports whether a request was meant for this machine, and came straight to it:
// a page whose name leads here for a moment says its own name, and a proxy says for whom
// it asks.
func isLocal(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
