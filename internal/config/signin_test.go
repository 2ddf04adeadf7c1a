package config_test

import (
	"crypto/tls"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/tlsfiles"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	path := write(t, `
corsOrigins = ["https://app.example.com"]
[tls]
certificate = "tls/server.crt"
key = "/etc/tls/server.key"
clientCA = "tls/clients.pem"
clientCertificates = "optional"
minVersion = "1.3"
[[oidc]]
issuer = "https://login.example.com/"
audience = ["dibs", "names"]
grants = [{ may = "read", in = ["slug", "acme.*"] }]
rules = [
  { claim = "groups", value = "admins", grants = [{ may = ["all"], in = "*" }] },
  { claim = ["realm_access", "roles"], value = "x", grants = [{ may = ["hold"], in = "*" }, { may = ["own"], in = "a.*" }] },
]
[[oidc]]
issuer = "http://localhost:8081/realms/x"
audience = "dibs"
algorithms = ["PS512"]
subject = "email"
leeway = "0s"
grants = [{ may = "read", in = "*" }]
clientId = "dibs-browser"
clientSecret = "s3cret"
redirectURL = "https://names.example.com/auth/oidc/callback"
scopes = ["groups"]
[[certificates]]
uri = "spiffe://example.com/orders"
grants = [{ may = ["read", "hold"], in = "slug" }]
`)
	got, err := config.Load(config.Overrides{File: path, Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	grant := func(may, in string) access.Grant {
		g := access.Grant{Namespaces: strings.Fields(in)}
		for verb := range strings.FieldsSeq(may) {
			g.Verbs = append(g.Verbs, access.Verb(verb))
		}
		return g
	}
	for what, pair := range map[string][2]any{
		"tls": {got.TLS, tlsfiles.Files{
			Certificate: filepath.Join(filepath.Dir(path), "tls/server.crt"), Key: "/etc/tls/server.key",
			ClientCA: filepath.Join(filepath.Dir(path), "tls/clients.pem"), Clients: tlsfiles.Optional, MinVersion: tls.VersionTLS13,
		}},
		"oidc": {got.OIDC, []auth.Issuer{
			{
				URL: "https://login.example.com/", Audience: []string{"dibs", "names"}, Leeway: time.Minute,
				Grants: []access.Grant{grant("read", "slug acme.*")},
				Rules: []auth.ClaimRule{
					{Claim: []string{"groups"}, Value: "admins", Grants: []access.Grant{grant("all", "*")}},
					{Claim: []string{"realm_access", "roles"}, Value: "x", Grants: []access.Grant{grant("hold", "*"), grant("own", "a.*")}},
				},
			},
			{
				URL: "http://localhost:8081/realms/x", Audience: []string{"dibs"}, Algorithms: []string{"PS512"}, Subject: "email",
				Grants: []access.Grant{grant("read", "*")},
				Browser: auth.Browser{
					ClientID: "dibs-browser", ClientSecret: "s3cret", RedirectURL: "https://names.example.com/auth/oidc/callback", Scopes: []string{"groups"},
				},
			},
		}},
		"certificates": {got.Certificates, []auth.CertificateRule{
			{Field: auth.CertificateURI, Value: "spiffe://example.com/orders", Grants: []access.Grant{grant("read hold", "slug")}},
		}},
		"origins": {got.CORSOrigins, []string{"https://app.example.com"}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s is\n%+v, want\n%+v", what, pair[0], pair[1])
		}
	}
}

// Settings of [tls] are required only if others need them.
func TestTLSNeeds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[tls]\nkey = \"x\"": "tls: needs both certificate and key",
		"[tls]\ncertificate = \"x\"\nkey = \"y\"\nclientCertificates = \"required\"":                                  "tls.clientCertificates: needs clientCA",
		"[tls]\nclientCA = \"x\"\nclientCertificates = \"optional\"":                                                  "tls.clientCertificates: needs TLS",
		"[[certificates]]\ndns = \"a\"\ngrants = [{ may = \"read\", in = \"*\" }]":                                    "certificates: the server does not ask for client certificates",
		"[tls]\ncertificate = \"x\"\nkey = \"y\"\n[[certificates]]\ndns = \"a\"\ngrants = [{may=\"read\", in=\"*\"}]": "certificates: the server does not ask for client certificates",
	} {
		if got := problems(t, text).Error(); !strings.Contains(got, want) {
			t.Errorf("%s\nis reported as %s", text, got)
		}
	}
}
