package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/tlsfiles"
)

// readSignIn reads the settings of TLS, keys, issuers, client certificates and CORS.
func (l *loader) readSignIn(s *section) {
	l.config.TLS = s.table("tls").tls()
	l.readKeys(s)
	for _, t := range s.tables("oidc") {
		l.config.OIDC = append(l.config.OIDC, t.issuer(l.config.OIDC))
	}
	for _, t := range s.tables("certificates") {
		l.config.Certificates = append(l.config.Certificates, t.holder())
	}
	if len(l.config.Certificates) > 0 && !l.config.TLS.AsksClients() {
		s.report("certificates", `the server does not ask for client certificates: set clientCertificates in [tls] to "optional" or "required"`)
	}
	l.config.CORSOrigins = parseEach(s, "corsOrigins", checked(access.CheckOrigin))
}

// tls reads [tls]. It does not open the files: a command that needs only the policies may
// lack the permission.
func (s *section) tls() (f tlsfiles.Files) {
	clients, version := string(tlsfiles.Off), "1.2"
	s.filePath("certificate", &f.Certificate)
	s.filePath("key", &f.Key)
	s.filePath("clientCA", &f.ClientCA)
	s.text("clientCertificates", &clients)
	s.text("minVersion", &version)
	s.finish()
	switch f.Clients = tlsfiles.Clients(clients); {
	case f.Clients != tlsfiles.Off && !f.AsksClients():
		s.report("clientCertificates", `is %q; it must be "off", "optional" or "required"`, clients)
	case f.Clients != tlsfiles.Off && f.ClientCA == "":
		s.report("clientCertificates", "needs clientCA, a file with the authorities of the client certificates")
	case f.Clients != tlsfiles.Off && f.Certificate == "":
		s.report("clientCertificates", "needs TLS: set certificate and key")
	}
	if (f.Certificate == "") != (f.Key == "") {
		s.report("", "needs both certificate and key, or neither")
	}
	switch version {
	case "1.2": // the zero value
	case "1.3":
		f.MinVersion = tls.VersionTLS13
	default:
		s.report("minVersion", `is %q; it must be "1.2" or "1.3"`, version)
	}
	return f
}

// issuer reads an element of [[oidc]].
func (s *section) issuer(others []auth.Issuer) auth.Issuer {
	i := auth.Issuer{Leeway: auth.DefaultLeeway}
	s.text("issuer", &i.URL)
	i.Audience = s.oneOrMore("audience")
	i.Algorithms = parseEach(s, "algorithms", checked(auth.CheckAlgorithm))
	s.text("subject", &i.Subject)
	s.within("leeway", 0, auth.MaxLeeway, &i.Leeway)
	i.Grants = s.grants()
	for _, t := range s.tables("rules") {
		i.Rules = append(i.Rules, t.rule())
	}
	i.Browser = s.browser()
	s.finish()
	if err := auth.CheckIssuerURL(i.URL); err != nil {
		s.report("issuer", "%v", err)
	}
	if slices.ContainsFunc(others, func(o auth.Issuer) bool { return o.URL == i.URL }) {
		s.report("issuer", "duplicate issuer: put all of its rules into one [[oidc]]")
	}
	if len(i.Audience) == 0 || slices.Contains(i.Audience, "") {
		s.report("audience", "is required: the name of this server in tokens. Without it, tokens for other services would be accepted")
	}
	if len(i.Grants)+len(i.Rules) == 0 {
		s.report("", "grants nothing: add grants, or rules")
	}
	return i
}

// browser reads how browsers sign in at an issuer.
func (s *section) browser() (b auth.Browser) {
	s.text("clientId", &b.ClientID)
	b.ClientSecret, _, _ = s.secret("clientSecret", s.loader.environ)
	s.text("redirectURL", &b.RedirectURL)
	b.Scopes = s.list("scopes")
	switch {
	case b.ClientID == "" && (b.ClientSecret != "" || b.RedirectURL != "" || len(b.Scopes) > 0):
		s.report("clientId", "is required for browsers to sign in: the name of this server at the issuer")
	case b.ClientID != "":
		if err := auth.CheckRedirectURL(b.RedirectURL); err != nil {
			s.report("redirectURL", "%v", err)
		}
	}
	return b
}

// rule reads an element of a list of rules.
func (s *section) rule() auth.ClaimRule {
	r := auth.ClaimRule{Claim: s.oneOrMore("claim")}
	s.text("value", &r.Value)
	r.Grants = s.grants()
	s.finish()
	if len(r.Claim) == 0 || slices.Contains(r.Claim, "") || r.Value == "" || len(r.Grants) == 0 {
		s.report("", "a rule needs a claim, a value and grants")
	}
	return r
}

// holder reads an element of [[certificates]].
func (s *section) holder() auth.CertificateRule {
	var h auth.CertificateRule
	given := 0
	for _, kind := range auth.CertificateFields() {
		var value string
		if s.text(string(kind), &value) {
			h.Field, h.Value = kind, value
			given++
		}
	}
	h.Grants = s.grants()
	s.finish()
	switch {
	case given != 1:
		s.report("", "must have exactly one of subject, commonName, dns and uri")
	case checkName(h.Value) != nil:
		s.report(string(h.Field), "%v", checkName(h.Value))
	case len(h.Grants) == 0:
		s.report("", "needs grants")
	}
	return h
}

// checkName checks a text that becomes the name of a principal.
func checkName(text string) error {
	const most = 200
	switch {
	case text == "":
		return errors.New("is empty")
	case len(text) > most:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), most)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("contains control characters")
	}
	return nil
}

// grants reads a list of grants, with the words of "dibs keys create".
func (s *section) grants() (grants []access.Grant) {
	for _, t := range s.tables("grants") {
		var g access.Grant
		for _, verb := range t.oneOrMore("may") {
			g.Verbs = append(g.Verbs, access.Verb(verb))
		}
		g.Namespaces = t.oneOrMore("in")
		t.finish()
		if err := g.Validate(); err != nil {
			t.report("", "%v", err)
		}
		grants = append(grants, g)
	}
	return grants
}

// oneOrMore reads a text, or a list of texts.
func (s *section) oneOrMore(key string) []string {
	if text, ok := s.values[key].(string); ok {
		s.known = append(s.known, key)
		return []string{text}
	}
	return s.list(key)
}
