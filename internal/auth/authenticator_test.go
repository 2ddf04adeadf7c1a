package auth_test

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/authtest"
	"github.com/calldibs/dibs/memstore"
)

func newKeyStore(t *testing.T) *auth.KeyStore {
	t.Helper()
	store := memstore.New(memstore.Config{})
	t.Cleanup(func() { _ = store.Close() })
	return auth.NewKeyStore(store)
}

// A local server admits anonymous requests until there is a way to sign in; any other
// server never does. Once sign-in is required, it stays required.
func TestAnonymousRequests(t *testing.T) {
	t.Parallel()
	admits := func(a *auth.Authenticator) bool {
		t.Helper()
		caller, err := a.Bearer(t.Context(), "")
		if err != nil && !errors.Is(err, auth.ErrUnknownKey) {
			t.Fatal(err)
		}
		return err == nil && caller.May(access.Sweep, "")
	}
	if admits(auth.NewAuthenticator(newKeyStore(t), false)) {
		t.Error("a server for other machines admits anonymous requests")
	}
	for what, add := range map[string]func(*auth.Authenticator, *auth.KeyStore){
		"a key": func(_ *auth.Authenticator, keys *auth.KeyStore) { create(t, keys, "a") },
		"tokens": func(a *auth.Authenticator, _ *auth.KeyStore) {
			a.Trust(auth.NewTokenVerifier(nil, auth.TokenOptions{}), nil)
		},
		"a certificate": func(a *auth.Authenticator, _ *auth.KeyStore) {
			a.Trust(nil, []auth.CertificateRule{{Field: auth.CertificateDNS, Value: "a"}})
		},
	} {
		keys := newKeyStore(t)
		a := auth.NewAuthenticator(keys, true)
		if !admits(a) {
			t.Errorf("before %s: anonymous requests are refused", what)
		}
		add(a, keys)
		if admits(a) {
			t.Errorf("with %s: anonymous requests are admitted", what)
		}
		a.Trust(nil, nil)
		_ = keys.Revoke(t.Context(), "a")
		if admits(a) {
			t.Errorf("after %s: anonymous requests are admitted again", what)
		}
	}
}

// A secret that looks like a token goes to the token verifier, if there is one; any other
// goes to the key store.
func TestKeyOrToken(t *testing.T) {
	t.Parallel()
	keys, issuer := newKeyStore(t), authtest.NewIssuer(t)
	_, secret := create(t, keys, "checkout")
	token := issuer.Token(t, "alice", nil)
	a := auth.NewAuthenticator(keys, false)
	if _, err := a.Bearer(t.Context(), token); !errors.Is(err, auth.ErrUnknownKey) {
		t.Errorf("a token without trusted issuers: %v", err)
	}
	a.Trust(auth.NewTokenVerifier([]auth.Issuer{{URL: issuer.URL, Audience: []string{"dibs"}, Grants: grant(access.Read, "*")}}, auth.TokenOptions{}), nil)
	for sent, want := range map[string]string{secret: "checkout", token: "oidc:" + issuer.URL + "#alice"} {
		if caller, err := a.Bearer(t.Context(), sent); err != nil || caller.Name != want {
			t.Errorf("%+v, %v, want %s", caller, err, want)
		}
	}
	if _, err := a.Bearer(t.Context(), secret+"x"); !errors.Is(err, auth.ErrUnknownKey) {
		t.Error(err)
	}
}

func TestCertificateRules(t *testing.T) {
	t.Parallel()
	authority := authtest.NewAuthority(t)
	end := time.Now().Add(time.Hour)
	orders := authority.Client(t, "orders", "Orders.example.com", "spiffe://example.com/orders", end).X509(t)
	plain := authority.Client(t, "plain", "", "", end).X509(t)
	expired := authority.Client(t, "orders", "orders.example.com", "", time.Now().Add(-time.Minute)).X509(t)
	for _, c := range []struct {
		field       auth.CertificateField
		value       string
		certificate *x509.Certificate
		matches     bool
	}{
		{auth.CertificateCommonName, "orders", orders, true},
		{auth.CertificateCommonName, "Orders", orders, false},
		{auth.CertificateCommonName, "orders.example.com", orders, false},
		{auth.CertificateSubject, "CN=orders,O=Example", orders, true},
		{auth.CertificateSubject, "CN=orders", orders, false},
		{auth.CertificateDNS, "orders.example.com", orders, true}, // DNS names ignore case
		{auth.CertificateDNS, "example.com", orders, false},
		{auth.CertificateDNS, "orders", orders, false}, // a common name is not a DNS name
		{auth.CertificateDNS, "*.example.com", orders, false},
		{auth.CertificateURI, "spiffe://example.com/orders", orders, true},
		{auth.CertificateURI, "spiffe://example.com/", orders, false},
		{auth.CertificateDNS, "plain", plain, false},
		{auth.CertificateURI, "", plain, false},
		{auth.CertificateCommonName, "orders", expired, false},
		{"", "orders", orders, false},
	} {
		a := auth.NewAuthenticator(newKeyStore(t), false)
		a.Trust(nil, []auth.CertificateRule{
			{Field: auth.CertificateDNS, Value: "another.example.com"},
			{Field: c.field, Value: c.value, Grants: grant(access.Read, "*")},
			{Field: c.field, Value: c.value, Grants: grant(access.All, "*")}, // the first match decides
		})
		caller, err := a.Certificate(t.Context(), c.certificate)
		var refusal *access.RefusedError
		switch {
		case c.matches && (err != nil || caller.Name != "cert:"+string(c.field)+"="+c.value || !caller.May(access.Check, "slug") || caller.May(access.Sweep, "")):
			t.Errorf("%s %q: %+v, %v", c.field, c.value, caller, err)
		case !c.matches && (!errors.As(err, &refusal) || refusal.Reason != access.UnknownCertificate):
			t.Errorf("%s %q: %+v, %v", c.field, c.value, caller, err)
		}
	}
	// Without rules a certificate only opens the connection.
	if _, err := auth.NewAuthenticator(newKeyStore(t), false).Certificate(t.Context(), orders); !errors.Is(err, auth.ErrUnknownKey) {
		t.Error(err)
	}
	if caller, err := auth.NewAuthenticator(newKeyStore(t), true).Certificate(t.Context(), orders); err != nil || caller.Name != "" {
		t.Errorf("%+v, %v", caller, err)
	}
}
