package auth

import (
	"crypto/x509"
	"net/url"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
)

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
