// Package auth authenticates the callers of a server: by API key, by the token of an
// OpenID Connect issuer, or by client certificate. Package access decides about the rights
// of a caller.
package auth

import (
	"context"
	"crypto/x509"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs/internal/access"
)

// Authenticator authenticates requests. It is safe for concurrent use. Make one with
// [NewAuthenticator].
type Authenticator struct {
	keys     *KeyStore
	sessions *sessionStore
	// local means that only this machine can connect. Such a server accepts anonymous
	// requests until a key, an issuer or a certificate rule exists.
	local    bool
	required atomic.Bool
	trusted  atomic.Pointer[trusted]
}

// trusted has the issuers and the certificates of the configuration.
type trusted struct {
	tokens       *TokenVerifier // nil means none
	certificates []CertificateRule
}

// NewAuthenticator returns an Authenticator that accepts API keys. Set local if only this
// machine can connect.
func NewAuthenticator(keys *KeyStore, local bool) *Authenticator {
	a := &Authenticator{keys: keys, sessions: newSessionStore(keys.store), local: local}
	a.trusted.Store(&trusted{})
	return a
}

// Trust replaces the tokens and the certificates that are accepted. Nil tokens means none.
func (a *Authenticator) Trust(tokens *TokenVerifier, certificates []CertificateRule) {
	if tokens != nil || len(certificates) > 0 {
		a.required.Store(true)
	}
	a.trusted.Store(&trusted{tokens, certificates})
}

// Required reports whether every caller has to sign in. Once true, it stays true.
func (a *Authenticator) Required(ctx context.Context) (bool, error) {
	if a.required.Load() {
		return true, nil
	}
	some, err := a.keys.Any(ctx)
	if some {
		a.required.Store(true)
	}
	return some, err
}

// Bearer returns the caller of a request with "Authorization: Bearer secret"; an empty
// secret means that the request has no such header. If the configuration has issuers, a
// secret with two dots is a token; any other secret is a key.
func (a *Authenticator) Bearer(ctx context.Context, secret string) (access.Caller, error) {
	if secret == "" {
		return a.anonymous(ctx)
	}
	if tokens := a.trusted.Load().tokens; tokens != nil && looksLikeToken(secret) {
		return tokens.Verify(ctx, secret)
	}
	key, err := a.keys.Find(ctx, secret)
	return key.Caller(), err
}

// anonymous returns the caller of a request without credentials.
func (a *Authenticator) anonymous(ctx context.Context) (access.Caller, error) {
	if a.local {
		if required, err := a.Required(ctx); err != nil {
			return access.Caller{}, err
		} else if !required {
			return access.Everything, nil
		}
	}
	return access.Caller{}, ErrUnknownKey
}

// Certificate returns the caller of a request with a client certificate that TLS has
// verified. The first rule that matches applies. Without rules the request is anonymous:
// the certificate was only needed to connect.
func (a *Authenticator) Certificate(ctx context.Context, c *x509.Certificate) (access.Caller, error) {
	rules := a.trusted.Load().certificates
	if len(rules) == 0 {
		return a.anonymous(ctx)
	}
	if !time.Now().Before(c.NotAfter) { // a connection may outlive its certificate
		return access.Caller{}, refuse(access.UnknownCertificate, "this client certificate has expired: connect with a new one")
	}
	for _, rule := range rules {
		if rule.matches(c) {
			return rule.Caller(), nil
		}
	}
	return access.Caller{}, refuse(access.UnknownCertificate,
		"this client certificate is not known here: name it in [[certificates]] of the server's configuration, or send a key")
}

func refuse(reason access.Reason, detail string) *access.RefusedError {
	return &access.RefusedError{Reason: reason, Detail: detail}
}

// CertificateField is a field of a client certificate.
type CertificateField string

// The fields that a [CertificateRule] can compare.
const (
	CertificateSubject    CertificateField = "subject"    // the whole subject, as in "CN=orders,O=Example"
	CertificateCommonName CertificateField = "commonName" // the subject's common name
	CertificateDNS        CertificateField = "dns"        // one of the DNS names
	CertificateURI        CertificateField = "uri"        // one of the URIs, such as a SPIFFE id
)

// CertificateFields returns all fields.
func CertificateFields() []CertificateField {
	return []CertificateField{CertificateSubject, CertificateCommonName, CertificateDNS, CertificateURI}
}

// CertificateRule grants rights to client certificates with a value in a field.
type CertificateRule struct {
	Field  CertificateField
	Value  string
	Grants []access.Grant
}

// Caller returns the caller that the rule describes. Its name differs from that of every
// API key, which has no colon.
func (r CertificateRule) Caller() access.Caller {
	return access.Caller{Name: "cert:" + string(r.Field) + "=" + r.Value, Grants: r.Grants}
}

func (r CertificateRule) matches(c *x509.Certificate) bool {
	switch r.Field {
	case CertificateSubject:
		return c.Subject.String() == r.Value
	case CertificateCommonName:
		return c.Subject.CommonName == r.Value
	case CertificateDNS:
		return slices.ContainsFunc(c.DNSNames, func(name string) bool { return strings.EqualFold(name, r.Value) })
	case CertificateURI:
		return slices.ContainsFunc(c.URIs, func(u *url.URL) bool { return u.String() == r.Value })
	default:
		return false
	}
}
