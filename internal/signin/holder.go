package signin

import (
	"crypto/x509"
	"net/url"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
)

// Kind is the part of a certificate that says whose it is.
type Kind string

// The kinds.
const (
	Subject    Kind = "subject"    // the whole subject, as in "CN=orders,O=Example"
	CommonName Kind = "commonName" // the subject's common name
	DNS        Kind = "dns"        // one of its DNS names
	URI        Kind = "uri"        // one of its URIs, such as a SPIFFE id
)

// Kinds returns all of them.
func Kinds() []Kind { return []Kind{Subject, CommonName, DNS, URI} }

// Holder is somebody with a client certificate, and what that allows.
type Holder struct {
	Kind   Kind
	Value  string
	Grants []access.Grant
}

// Caller returns who the holder is. The name of an API key has no colon in it, so it is
// nobody else.
func (h Holder) Caller() access.Caller {
	return access.Caller{Name: "cert:" + string(h.Kind) + "=" + h.Value, Grants: h.Grants}
}

// has reports whether a certificate is the holder's.
func (h Holder) has(c *x509.Certificate) bool {
	switch h.Kind {
	case Subject:
		return c.Subject.String() == h.Value
	case CommonName:
		return c.Subject.CommonName == h.Value
	case DNS:
		return slices.ContainsFunc(c.DNSNames, func(name string) bool { return strings.EqualFold(name, h.Value) })
	case URI:
		return slices.ContainsFunc(c.URIs, func(u *url.URL) bool { return u.String() == h.Value })
	default:
		return false
	}
}
