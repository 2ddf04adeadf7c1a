package access

// Reason is why somebody was not let in, or may not do something; what refusals are
// counted by.
type Reason string

// The reasons.
const (
	NoCredentials      Reason = "no_credentials"      // neither key, nor token, nor certificate
	SeveralCredentials Reason = "several_credentials" // more than one key or token
	UnknownKey         Reason = "unknown_key"         // an API key that is none, or is over
	UnknownCertificate Reason = "unknown_certificate" // a good client certificate of nobody in particular
	TokenMalformed     Reason = "token_malformed"     // it cannot be read, or lacks what it must have
	TokenTooLarge      Reason = "token_too_large"
	TokenAlgorithm     Reason = "token_algorithm" // it is not signed in a way that counts
	TokenIssuer        Reason = "token_issuer"    // of an issuer that is not trusted here
	TokenSignature     Reason = "token_signature" // tampered with, or of a key that its issuer does not have
	TokenAudience      Reason = "token_audience"  // it was meant for somebody else
	TokenExpired       Reason = "token_expired"
	TokenNotYet        Reason = "token_not_yet"      // its time has not come
	IssuerUnavailable  Reason = "issuer_unavailable" // nobody can say whether the token is good

	Forbidden   Reason = "forbidden"    // known, and without the right
	Hidden      Reason = "hidden"       // the same, and was told that there is nothing
	CrossOrigin Reason = "cross_origin" // sent by a page of another site
	KeyNeeded   Reason = "key_needed"   // without a key, and not by the name of localhost
	NotJSON     Reason = "not_json"     // a body such as a form sends
)

// Reasons returns all of them.
func Reasons() []Reason {
	return []Reason{
		NoCredentials, SeveralCredentials, UnknownKey, UnknownCertificate, TokenMalformed, TokenTooLarge, TokenAlgorithm, TokenIssuer, TokenSignature,
		TokenAudience, TokenExpired, TokenNotYet, IssuerUnavailable, Forbidden, Hidden, CrossOrigin, KeyNeeded, NotJSON,
	}
}

// RefusedError is the error for somebody who is not let in.
type RefusedError struct {
	Reason Reason
	// Detail is for the caller: what is wrong and what to do next. It has nothing in it of
	// what the caller sent.
	Detail string
}

// Error returns the detail.
func (r *RefusedError) Error() string { return r.Detail }

// Passing reports whether the same credentials may be good in a moment.
func (r *RefusedError) Passing() bool { return r.Reason == IssuerUnavailable }
