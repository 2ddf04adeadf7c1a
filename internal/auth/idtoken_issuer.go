package auth

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

// Issuer is a trusted OpenID Connect issuer, and the rights of its tokens.
type Issuer struct {
	// URL is the issuer's name, exactly as in its tokens.
	URL string
	// Audience are the audiences that mean this server; at least one.
	Audience []string
	// Algorithms are the accepted signature algorithms. None means RS256, ES256 and EdDSA.
	Algorithms []string
	// Subject is the claim that identifies the caller. Empty means "sub".
	Subject string
	// Leeway is the tolerated difference between clocks. Zero means none.
	Leeway time.Duration
	// Grants are the rights of every valid token. None means that only Rules grant rights.
	Grants []access.Grant
	// Rules grant rights to tokens with certain claims. All rules that match apply.
	Rules []ClaimRule
}

// ClaimRule grants rights to tokens with a value in a claim.
type ClaimRule struct {
	// Claim is the claim's name; further names lead into claims that are objects.
	Claim []string
	// Value is the claim's text, or an element of its list.
	Value string
	// Grants are the rights; at least one.
	Grants []access.Grant
}

// DefaultLeeway is the leeway of an issuer without that setting.
const DefaultLeeway = time.Minute

// MaxLeeway is the maximum leeway: an expired token must not work much longer.
const MaxLeeway = 5 * time.Minute

// maxURL leaves room for a subject in the name of a principal.
const maxURL = 120

var defaultAlgorithms = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}

// algorithms are the supported ones, with which only the issuer can sign: neither "none" nor
// those with a shared secret.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// CheckIssuerURL reports what is wrong with the URL of an issuer.
func CheckIssuerURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("must be the issuer's URL, exactly as in its tokens: https://login.example.com")
	case !confidential(u):
		return errors.New("must begin with https://: an attacker on the network could replace the issuer's keys. " +
			"http:// is allowed for this machine only")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return errors.New("must not have a user, a ? or a # in it")
	case len(text) > maxURL:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), maxURL)
	}
	return nil
}

// confidential reports whether a URL uses HTTPS or does not leave this machine.
func confidential(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// CheckAlgorithm reports what is wrong with the name of an algorithm.
func CheckAlgorithm(name string) error {
	if slices.Contains(algorithms, name) {
		return nil
	}
	return fmt.Errorf("%q is not a supported signature algorithm: use one of %s", name, strings.Join(algorithms, ", "))
}

// principal returns the name of a subject in events, quotas and holds. It is unique: the
// name of an API key has no colon, and the URL of an issuer no #.
func (i Issuer) principal(subject string) string { return "oidc:" + i.URL + "#" + subject }
