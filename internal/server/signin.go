package server

import (
	"net/http"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// signIn returns who a request is from, or says why nobody. An address that has failed too
// often is not even asked; but whoever has signed in from there before still can, so that
// nobody is kept out by a neighbour.
func (s *Server) signIn(r *http.Request, from limit.Visitor) (access.Caller, *problem) {
	buckets := s.limits.signIns
	if buckets == nil || !from.Known || s.cfg.Authenticate == nil {
		return s.identify(r)
	}
	address, shown := from.Addr.String(), credentials(r)
	if verdict := buckets.Peek(from.Addr, 1); !verdict.OK && !s.limits.regulars.Has(address, shown) {
		return access.Caller{}, s.tooMany(bySignIn, "signIn", buckets.Rate(), verdict, "too many from this address have failed to sign in")
	}
	caller, p := s.identify(r)
	switch {
	case p == nil:
		s.limits.regulars.Add(address, shown)
	case p.Status == http.StatusUnauthorized:
		buckets.Take(from.Addr, 1)
	}
	return caller, p
}

// credentials returns what a request signs in with.
func credentials(r *http.Request) string {
	if header := r.Header.Get("Authorization"); header != "" {
		return header
	}
	if c := certificateOf(r); c != nil {
		return string(c.Signature)
	}
	return ""
}
