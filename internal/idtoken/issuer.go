// Package idtoken lets in whoever has a token of an OpenID Connect issuer: a JWT that
// the issuer signed, for this server, and whose time has come and is not over.
//
// Issuers are asked for their keys when the first token of theirs comes, and again when
// a token has a key that is not known, which is bounded. One that is down keeps out those
// who have its tokens, and nobody else.
package idtoken

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/calldibs/dibs/internal/access"
)

// Issuer is whose tokens count, and what they allow.
type Issuer struct {
	// URL is the issuer's name, exactly as its tokens have it.
	URL string
	// Audience are the names by which tokens may mean this server; at least one.
	Audience []string
	// Algorithms are the signatures that count; none means [DefaultAlgorithms].
	Algorithms []string
	// Subject is the claim that says who it is. Empty means "sub".
	Subject string
	// Leeway is by how much clocks may differ. Zero means not at all.
	Leeway time.Duration
	// Grants are for everybody with a good token. None means that only rules grant.
	Grants []access.Grant
	// Rules grant more to those whose tokens say something. All that match count.
	Rules []Rule
}

// Rule grants something to tokens with a claim that has a value.
type Rule struct {
	// Claim is the claim's name; further names lead into claims that are objects.
	Claim []string
	// Value is the text that the claim is, or has in its list.
	Value string
	// Grants are what that allows; at least one.
	Grants []access.Grant
}

// DefaultLeeway is what an issuer has where nothing is said about it.
const DefaultLeeway = time.Minute

// MaxLeeway is the most that clocks may differ: a token that is over must be over.
const MaxLeeway = 5 * time.Minute

// maxURL leaves room for a subject in the name of a principal.
const maxURL = 120

// DefaultAlgorithms returns the algorithms that count where none are named.
func DefaultAlgorithms() []string { return []string{oidc.RS256, oidc.ES256, oidc.EdDSA} }

// algorithms are those that can count: an issuer signs, and nobody else could. "none",
// and all that share a secret, are not among them.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// CheckURL says what is wrong with the URL of an issuer.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("must be the issuer's URL, exactly as its tokens have it: https://login.example.com")
	case !confidential(u):
		return errors.New("must begin with https://: over http:// anybody on the way could say which keys are the issuer's. Only for this machine itself http:// will do")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return errors.New("must not have a user, a ? or a # in it")
	case len(text) > maxURL:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), maxURL)
	}
	return nil
}

// confidential reports whether nobody can listen in: it is HTTPS, or does not leave this
// machine.
func confidential(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// CheckAlgorithm says what is wrong with the name of an algorithm.
func CheckAlgorithm(name string) error {
	if slices.Contains(algorithms, name) {
		return nil
	}
	return fmt.Errorf("%q does not count as a signature: there are %s", name, strings.Join(algorithms, ", "))
}

// principal is who a subject is in events, quotas and holds. An API key's name has no
// colon in it and a URL of an issuer no #: no two callers can have the same.
func (i Issuer) principal(subject string) string { return "oidc:" + i.URL + "#" + subject }
