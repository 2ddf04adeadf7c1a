package servetest_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/authtest"
)

// secured is a folder with certificates and a configuration of principals.
type secured struct {
	dir       string
	authority *authtest.Authority
	issuer    *authtest.Issuer
	orders    authtest.Pair // the certificate of a client
}

func newSecured(t *testing.T) *secured {
	t.Helper()
	f := &secured{dir: t.TempDir(), authority: authtest.NewAuthority(t), issuer: authtest.NewIssuer(t)}
	writeFile(t, f.dir, "ca.pem", string(f.authority.PEM))
	f.authority.Server(t, "first").Write(t, f.dir, "server")
	f.orders = f.authority.Client(t, "orders", "orders.example.com", "", time.Now().Add(time.Hour))
	f.orders.Write(t, f.dir, "orders")
	f.configure(t, "optional", "read")
	return f
}

// configure writes a configuration that grants the same rights to all principals.
func (f *secured) configure(t *testing.T, clients, may string) {
	t.Helper()
	text := fmt.Sprintf(`
corsOrigins = ["https://app.example.com"]
[tls]
certificate = "server.crt"
key = "server.key"
clientCA = "ca.pem"
clientCertificates = %q
[[oidc]]
issuer = %q
audience = "dibs"
rules = [{ claim = "groups", value = "staff", grants = [{ may = %q, in = "*" }] }]
[[certificates]]
dns = "orders.example.com"
grants = [{ may = %[3]q, in = "*" }]
`, clients, f.issuer.URL, may)
	writeFile(t, f.dir, "dibs.toml", text)
}

// serve starts the server where other machines can reach it.
func (f *secured) serve(t *testing.T) *process {
	t.Helper()
	p := listen(t, start(t, f.dir, nil, "serve", "--listen", "0.0.0.0:0", "--config", "dibs.toml"))
	p.url = strings.Replace(p.url, "http://", "https://", 1)
	return p
}

// client trusts the server, and has these certificates.
func (f *secured) client(t *testing.T, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	client := newClient(t, 1)
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: f.authority.Pool(), Certificates: certificates}
	return client
}

// TestSignInFromElsewhere starts a server without a key, which accepts only the principals
// of the configuration.
func TestSignInFromElsewhere(t *testing.T) {
	t.Parallel()
	notRaced(t)
	f := newSecured(t)
	f.issuer.Down.Store(true)
	p := f.serve(t)
	await(t, "the log tells of the issuer", func() bool { return strings.Contains(p.stderr.String(), "an issuer of tokens does not answer") })
	token := f.issuer.Token(t, "alice", authtest.Claims{"groups": []string{"staff"}})
	plain, known := f.client(t), f.client(t, f.orders.TLS(t))
	status := func(client *http.Client, path string, headers ...string) int {
		t.Helper()
		a, err := ask(client, http.MethodGet, p.url+path, "", headers...)
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	bearer := []string{"Authorization", "Bearer " + token}
	if got := status(plain, "/v1/check/slug/a", bearer...); got != http.StatusServiceUnavailable {
		t.Errorf("a token while its issuer is down: %d", got)
	}
	f.issuer.Down.Store(false)
	await(t, "the issuer is believed", func() bool { return status(plain, "/v1/check/slug/a", bearer...) == http.StatusOK })
	for what, c := range map[string]struct {
		client  *http.Client
		path    string
		headers []string
		want    int
	}{
		"no credentials":            {plain, "/v1/check/slug/a", nil, 401},
		"health":                    {plain, "/healthz", nil, 200},
		"a certificate":             {known, "/v1/check/slug/a", nil, 200},
		"a certificate's limits":    {known, "/v1/names", nil, 403},
		"a token's limits":          {plain, "/v1/names", bearer, 403},
		"a token without the group": {plain, "/v1/check/slug/a", []string{"Authorization", "Bearer " + f.issuer.Token(t, "eve", nil)}, 403},
		"a made-up key":             {known, "/v1/check/slug/a", []string{"Authorization", "Bearer x"}, 401},
	} {
		if got := status(c.client, c.path, c.headers...); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}

	// More rights and another certificate, without a new sign-in.
	f.authority.Server(t, "second").Write(t, f.dir, "server")
	f.configure(t, "optional", "watch")
	p.signal(t, syscall.SIGHUP)
	await(t, "other rights are in force", func() bool {
		return status(known, "/v1/names") == http.StatusOK && status(plain, "/v1/names", bearer...) == http.StatusOK
	})
	if got := status(known, "/v1/check/slug/a"); got != http.StatusForbidden {
		t.Errorf("a revoked right: %d", got)
	}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "https://"), &tls.Config{RootCAs: f.authority.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if got := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; got != "second" {
		t.Errorf("the server has the %s certificate", got)
	}
	if metrics := metricsOf(t, known, p.url); !strings.Contains(metrics, fmt.Sprintf("dibs_issuer_up{issuer=%q} 1", f.issuer.URL)) {
		t.Errorf("the metrics do not show that the issuer is up: %.300s", metrics)
	}

	f.checkCommandLine(t, p, token)
	if log := p.stderr.String() + p.stdout.String(); strings.Contains(log, token) || strings.Contains(log, "PRIVATE") {
		t.Error("a secret is in the log")
	}
}

// checkCommandLine demands that the command line can sign in by certificate and by token.
func (f *secured) checkCommandLine(t *testing.T, p *process, token string) {
	t.Helper()
	for what, env := range map[string][]string{
		"a certificate": {"DIBS_CERT=orders.crt", "DIBS_CERT_KEY=orders.key"},
		"a token":       {"DIBS_KEY=" + token},
	} {
		verb := start(t, f.dir, append(env, "DIBS_SERVER="+p.url, "DIBS_CA=ca.pem"), "list")
		if verb.wait(t) != 0 {
			t.Errorf("%s: %s", what, verb.stderr.String())
		}
	}
	if verb := finish(t, f.dir, "list", "--server", p.url, "--cert", "orders.crt", "--cert-key", "orders.key"); verb.wait(t) == 0 {
		t.Error("a server with an unknown CA is trusted")
	}
}

func metricsOf(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	a, err := ask(client, http.MethodGet, url+"/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	return string(a.body)
}

// TestCertificatesRequired accepts no connection without a certificate.
func TestCertificatesRequired(t *testing.T) {
	t.Parallel()
	notRaced(t)
	f := newSecured(t)
	f.configure(t, "required", "read")
	p := f.serve(t)
	if a, err := ask(f.client(t), http.MethodGet, p.url+"/healthz", ""); err == nil {
		t.Errorf("without a certificate: %d", a.status)
	}
	stranger := f.authority.Client(t, "eve", "eve.example.com", "", time.Now().Add(time.Hour)).TLS(t)
	if a, err := ask(f.client(t, stranger), http.MethodGet, p.url+"/v1/check/slug/a", ""); err != nil || a.status != http.StatusUnauthorized {
		t.Errorf("with the certificate of an unknown principal: %d, %v", a.status, err)
	}
}

// TestBrokenCertificates demands an error before the server serves, and from config check.
func TestBrokenCertificates(t *testing.T) {
	t.Parallel()
	notRaced(t)
	f := newSecured(t)
	if checked := finish(t, f.dir, "config", "check", "dibs.toml"); checked.wait(t) != 0 {
		t.Error(checked.stderr.String())
	}
	removeFile(t, f.dir, "server.key")
	for _, args := range [][]string{{"config", "check", "dibs.toml"}, {"serve", "--config", "dibs.toml", "--listen", "127.0.0.1:0"}} {
		p := finish(t, f.dir, args...)
		if p.wait(t) != 2 || !strings.Contains(p.stderr.String(), "server.key: no such file") {
			t.Errorf("%q: %v: %s", args, p.cmd.ProcessState, p.stderr.String())
		}
	}
	// A command that needs only the policies needs no certificates.
	if list := finish(t, f.dir, "list", "--store", "sqlite:dibs.db", "--config", "dibs.toml"); list.wait(t) != 0 {
		t.Error(list.stderr.String())
	}
}
