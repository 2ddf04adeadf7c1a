package access

import (
	"errors"
	"net/url"
	"strings"
)

// Reason is why a request was refused, a label of the metric that counts refusals.
type Reason string

// The reasons.
const (
	NoCredentials      Reason = "no_credentials"      // neither key, nor token, nor certificate
	SeveralCredentials Reason = "several_credentials" // more than one key or token
	UnknownKey         Reason = "unknown_key"         // an API key that does not exist, or has expired
	UnknownCertificate Reason = "unknown_certificate" // a valid client certificate that no rule names
	TokenMalformed     Reason = "token_malformed"     // cannot be parsed, or lacks a claim
	TokenTooLarge      Reason = "token_too_large"
	TokenAlgorithm     Reason = "token_algorithm" // not signed with an accepted algorithm
	TokenIssuer        Reason = "token_issuer"    // of an issuer that is not trusted
	TokenSignature     Reason = "token_signature" // tampered with, or signed by an unknown key
	TokenAudience      Reason = "token_audience"  // for another server
	TokenExpired       Reason = "token_expired"
	TokenNotYet        Reason = "token_not_yet"      // not valid yet
	IssuerUnavailable  Reason = "issuer_unavailable" // the token cannot be verified
	SessionOver        Reason = "session_over"       // a browser's session has ended

	Forbidden   Reason = "forbidden"    // the caller lacks the right
	Hidden      Reason = "hidden"       // the caller lacks the right, and is told that nothing exists
	CrossOrigin Reason = "cross_origin" // from a page of another site
	KeyNeeded   Reason = "key_needed"   // without a key, and not for localhost
	NotJSON     Reason = "not_json"     // a body such as HTML forms send
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{
		NoCredentials, SeveralCredentials, UnknownKey, UnknownCertificate, TokenMalformed, TokenTooLarge, TokenAlgorithm,
		TokenIssuer, TokenSignature, TokenAudience, TokenExpired, TokenNotYet, IssuerUnavailable, SessionOver, Forbidden, Hidden, CrossOrigin, KeyNeeded, NotJSON,
	}
}

// RefusedError is the error for a request that is refused.
type RefusedError struct {
	Reason Reason
	// Detail tells the caller what is wrong and what to do. It repeats nothing that the
	// caller sent.
	Detail string
}

// Error returns the detail.
func (r *RefusedError) Error() string { return r.Detail }

// Passing reports whether a later request with the same credentials may be accepted.
func (r *RefusedError) Passing() bool { return r.Reason == IssuerUnavailable }

// CheckOrigin reports what is wrong with an origin, which must be written as browsers write
// it.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case origin == "*":
		return errors.New("must be one site: pages of any other site could act for their visitors")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be the origin of a site: https://app.example.com")
	case strings.Contains(u.Host, "*"):
		return errors.New("must be one site: name each of them")
	case u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80":
		return errors.New("must not have the default port: browsers leave it out")
	case origin != u.Scheme+"://"+strings.ToLower(u.Host) || strings.HasSuffix(u.Host, ":"):
		return errors.New("must be scheme and host in lower case, without a path or a final slash: https://app.example.com")
	}
	return nil
}
