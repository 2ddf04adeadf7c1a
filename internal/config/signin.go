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

// readSignIn reads who may come, and how.
func (l *loader) readSignIn(s *section) {
	if t := s.table("tls"); t != nil {
		l.config.TLS = l.readTLS(t)
	}
	for _, t := range s.tables("oidc") {
		l.config.OIDC = append(l.config.OIDC, t.issuer(l.config.OIDC))
	}
	for _, t := range s.tables("certificates") {
		l.config.Certificates = append(l.config.Certificates, t.certificateRule())
	}
	if len(l.config.Certificates) > 0 && !slices.Contains([]tlsfiles.Clients{tlsfiles.Optional, tlsfiles.Required}, l.config.TLS.Clients) {
		s.report("certificates", `clients are not asked for certificates: set clientCertificates in [tls] to "optional" or "required"`)
	}
	var origins []string
	s.texts("corsOrigins", &origins)
	for i, origin := range origins {
		if err := access.CheckOrigin(origin); err != nil {
			l.report(s.where(element("corsOrigins", i)), "%v", err)
			continue
		}
		l.config.CORSOrigins = append(l.config.CORSOrigins, origin)
	}
}

// readTLS takes [tls]. Whether the files are good is for whoever opens them to say: verbs
// that read the policies alone need not be able to.
func (l *loader) readTLS(s *section) (f tlsfiles.Files) {
	f.Clients = tlsfiles.Off
	clients, version := string(tlsfiles.Off), "1.2"
	s.text("certificate", &f.Certificate)
	s.text("key", &f.Key)
	s.text("clientCA", &f.ClientCA)
	s.text("clientCertificates", &clients)
	s.text("minVersion", &version)
	s.finish()
	for _, path := range []*string{&f.Certificate, &f.Key, &f.ClientCA} {
		if *path != "" {
			*path = l.file.beside(*path)
		}
	}
	switch f.Clients = tlsfiles.Clients(clients); {
	case !slices.Contains(tlsfiles.AllClients(), f.Clients):
		s.report("clientCertificates", `is %q, it must be "off", "optional" or "required"`, clients)
	case f.Clients != tlsfiles.Off && f.ClientCA == "":
		s.report("clientCertificates", "needs clientCA, the file of the authorities that clients have their certificates from")
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
		s.report("minVersion", `is %q, it must be "1.2" or "1.3"`, version)
	}
	if f.Clients == tlsfiles.Off {
		f.Clients = "" // the same, as it is where nothing is said
	}
	return f
}

// issuer takes an element of [[oidc]].
func (s *section) issuer(others []auth.Issuer) auth.Issuer {
	i := auth.Issuer{Leeway: auth.DefaultLeeway}
	s.text("issuer", &i.URL)
	s.oneOrMore("audience", &i.Audience)
	s.texts("algorithms", &i.Algorithms)
	s.text("subject", &i.Subject)
	s.span("leeway", 0, &i.Leeway)
	i.Grants = s.grants("grants")
	for _, t := range s.tables("rules") {
		i.Rules = append(i.Rules, t.rule())
	}
	s.finish()
	if err := auth.CheckIssuerURL(i.URL); err != nil {
		s.report("issuer", "%v", err)
	}
	if slices.ContainsFunc(others, func(o auth.Issuer) bool { return o.URL == i.URL }) {
		s.report("issuer", "is there already: put all of its rules into one [[oidc]]")
	}
	if len(i.Audience) == 0 || slices.Contains(i.Audience, "") {
		s.report("audience", "is needed: the name by which tokens mean this server. Without it, tokens for anybody else would count here")
	}
	for n, name := range i.Algorithms {
		if err := auth.CheckAlgorithm(name); err != nil {
			s.loader.report(s.where(element(join(s.path, "algorithms"), n)), "%v", err)
		}
	}
	if i.Leeway > auth.MaxLeeway {
		s.report("leeway", "is %s, it must be at most %s", formatDuration(i.Leeway), formatDuration(auth.MaxLeeway))
	}
	if len(i.Grants)+len(i.Rules) == 0 {
		s.report("", "grants nothing to anybody: add grants, or rules")
	}
	return i
}

// rule takes an element of a list of rules.
func (s *section) rule() auth.ClaimRule {
	var r auth.ClaimRule
	s.oneOrMore("claim", &r.Claim)
	s.text("value", &r.Value)
	r.Grants = s.grants("grants")
	s.finish()
	if len(r.Claim) == 0 || slices.Contains(r.Claim, "") || r.Value == "" || len(r.Grants) == 0 {
		s.report("", "a rule needs a claim, a value and grants")
	}
	return r
}

// certificateRule takes an element of [[certificates]].
func (s *section) certificateRule() auth.CertificateRule {
	var r auth.CertificateRule
	given := 0
	for _, field := range auth.CertificateFields() {
		var value string
		if s.text(string(field), &value) {
			r.Field, r.Value = field, value
			given++
		}
	}
	r.Grants = s.grants("grants")
	s.finish()
	switch {
	case given != 1:
		s.report("", "must have exactly one of subject, commonName, dns and uri")
	case checkName(r.Value) != nil:
		s.report(string(r.Field), "%v", checkName(r.Value))
	case len(r.Grants) == 0:
		s.report("", "needs grants")
	}
	return r
}

// checkName says what is wrong with a text that becomes the name of a principal.
func checkName(text string) error {
	const most = 200
	switch {
	case text == "":
		return errors.New("is empty")
	case len(text) > most:
		return fmt.Errorf("has %d bytes, more than the %d allowed", len(text), most)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("has control characters in it")
	}
	return nil
}

// grants takes a list of grants, by the words of "dibs keys create".
func (s *section) grants(key string) (grants []access.Grant) {
	for _, t := range s.tables(key) {
		var g access.Grant
		var may []string
		t.oneOrMore("may", &may)
		t.oneOrMore("in", &g.Namespaces)
		t.finish()
		for _, verb := range may {
			g.Verbs = append(g.Verbs, access.Verb(verb))
		}
		if err := g.Validate(); err != nil {
			t.report("", "%v", err)
		}
		grants = append(grants, g)
	}
	return grants
}

// oneOrMore takes a text, or a list of texts.
func (s *section) oneOrMore(key string, into *[]string) {
	if text, ok := s.values[key].(string); ok {
		s.known = append(s.known, key)
		*into = []string{text}
		return
	}
	s.texts(key, into)
}
