package server

import (
	"net/http"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// signIn returns the caller of a request, or a problem. An address with too many failures is
// rejected without authentication. Credentials that were accepted from that address before still
// are, so that one client cannot lock out others behind the same address.
func (s *Server) signIn(r *http.Request, from limit.Visitor) (access.Caller, *problem) {
	buckets := s.limits.signIns
	if buckets == nil || !from.Known || s.cfg.Authenticate == nil {
		return s.identify(r)
	}
	address, shown := from.Addr.String(), credentials(r)
	if verdict := buckets.Peek(from.Addr, 1); !verdict.OK && !s.limits.goodCredentials.Has(address, shown) {
		return access.Caller{}, s.tooMany(bySignIn, "signIn", buckets.Rate(), verdict, "too many failed sign-ins from this address")
	}
	caller, p := s.identify(r)
	switch {
	case p == nil:
		s.limits.goodCredentials.Add(address, shown)
	case p.Status == http.StatusUnauthorized:
		buckets.Take(from.Addr, 1)
	}
	return caller, p
}

// credentials returns the Authorization header, or the signature of the client certificate.
func credentials(r *http.Request) string {
	if header := r.Header.Get("Authorization"); header != "" {
		return header
	}
	if c := certificateOf(r); c != nil {
		return string(c.Signature)
	}
	return ""
}
