package signin_test

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/idtoken"
	"github.com/calldibs/dibs/internal/keys"
	"github.com/calldibs/dibs/internal/signin"
	"github.com/calldibs/dibs/internal/signintest"
	"github.com/calldibs/dibs/memstore"
)

func grants(verb access.Verb) []access.Grant {
	return []access.Grant{{Verbs: []access.Verb{verb}, Namespaces: []string{"*"}}}
}

func newRing(t *testing.T) *keys.Ring {
	t.Helper()
	store := memstore.New(memstore.Config{})
	t.Cleanup(func() { _ = store.Close() })
	return keys.NewRing(store)
}

// This machine needs no key until there is a way to sign in, and other machines always
// do. What was closed stays closed.
func TestWhoNeedsNothing(t *testing.T) {
	t.Parallel()
	open := func(d *signin.Desk) bool {
		t.Helper()
		caller, err := d.Bearer(t.Context(), "")
		if err != nil && !errors.Is(err, keys.ErrUnknown) {
			t.Fatal(err)
		}
		return err == nil && caller.May(access.Sweep, "")
	}
	if open(signin.NewDesk(newRing(t), false)) {
		t.Error("other machines need nothing")
	}
	for what, sign := range map[string]func(*signin.Desk, *keys.Ring){
		"a key": func(_ *signin.Desk, ring *keys.Ring) {
			if _, _, err := ring.Create(t.Context(), keys.Key{Name: "a", Grants: grants(access.Read)}); err != nil {
				t.Fatal(err)
			}
		},
		"tokens":  func(d *signin.Desk, _ *keys.Ring) { d.Trust(idtoken.New(nil, idtoken.Options{}), nil) },
		"holders": func(d *signin.Desk, _ *keys.Ring) { d.Trust(nil, []signin.Holder{{Kind: signin.DNS, Value: "a"}}) },
	} {
		ring := newRing(t)
		d := signin.NewDesk(ring, true)
		if !open(d) {
			t.Errorf("%s: this machine needs something although there is nothing", what)
		}
		sign(d, ring)
		if open(d) {
			t.Errorf("there is %s, and nobody needs it", what)
		}
		d.Trust(nil, nil)
		_ = ring.Revoke(t.Context(), "a")
		if open(d) {
			t.Errorf("there was %s, and it opens again", what)
		}
	}
}

// What looks like a token goes to the issuers, if there are any, and all else to the keys.
func TestKeyOrToken(t *testing.T) {
	t.Parallel()
	ring, issuer := newRing(t), signintest.NewIssuer(t)
	_, secret, err := ring.Create(t.Context(), keys.Key{Name: "checkout", Grants: grants(access.Hold)})
	if err != nil {
		t.Fatal(err)
	}
	token := issuer.Token(t, "alice", nil)
	d := signin.NewDesk(ring, false)
	if _, err := d.Bearer(t.Context(), token); !errors.Is(err, keys.ErrUnknown) {
		t.Errorf("a token where none count: %v", err)
	}
	d.Trust(idtoken.New([]idtoken.Issuer{{URL: issuer.URL, Audience: []string{"dibs"}, Grants: grants(access.Read)}}, idtoken.Options{}), nil)
	for sent, want := range map[string]string{secret: "checkout", token: "oidc:" + issuer.URL + "#alice"} {
		if caller, err := d.Bearer(t.Context(), sent); err != nil || caller.Name != want {
			t.Errorf("%+v, %v, want %s", caller, err, want)
		}
	}
	if _, err := d.Bearer(t.Context(), secret+"x"); !errors.Is(err, keys.ErrUnknown) {
		t.Error(err)
	}
}

func TestHolders(t *testing.T) {
	t.Parallel()
	authority := signintest.NewAuthority(t)
	end := time.Now().Add(time.Hour)
	orders := authority.Client(t, "orders", "Orders.example.com", "spiffe://example.com/orders", end).X509(t)
	plain := authority.Client(t, "plain", "", "", end).X509(t)
	over := authority.Client(t, "orders", "orders.example.com", "", time.Now().Add(-time.Minute)).X509(t)
	for _, c := range []struct {
		kind        signin.Kind
		value       string
		certificate *x509.Certificate
		fits        bool
	}{
		{signin.CommonName, "orders", orders, true},
		{signin.CommonName, "Orders", orders, false},
		{signin.CommonName, "orders.example.com", orders, false},
		{signin.Subject, "CN=orders,O=Example", orders, true},
		{signin.Subject, "CN=orders", orders, false},
		{signin.DNS, "orders.example.com", orders, true}, // host names have no case
		{signin.DNS, "example.com", orders, false},
		{signin.DNS, "orders", orders, false}, // a common name is no host name
		{signin.DNS, "*.example.com", orders, false},
		{signin.URI, "spiffe://example.com/orders", orders, true},
		{signin.URI, "spiffe://example.com/", orders, false},
		{signin.DNS, "plain", plain, false},
		{signin.URI, "", plain, false},
		{signin.CommonName, "orders", over, false},
		{"", "orders", orders, false},
	} {
		d := signin.NewDesk(newRing(t), false)
		d.Trust(nil, []signin.Holder{
			{Kind: signin.DNS, Value: "somebody.else"},
			{Kind: c.kind, Value: c.value, Grants: grants(access.Read)},
			{Kind: c.kind, Value: c.value, Grants: grants(access.All)}, // too late
		})
		caller, err := d.Certificate(t.Context(), c.certificate)
		var refusal *access.RefusedError
		switch {
		case c.fits && (err != nil || caller.Name != "cert:"+string(c.kind)+"="+c.value || !caller.May(access.Check, "slug") || caller.May(access.Sweep, "")):
			t.Errorf("%s %q: %+v, %v", c.kind, c.value, caller, err)
		case !c.fits && (!errors.As(err, &refusal) || refusal.Reason != access.UnknownCertificate):
			t.Errorf("%s %q: %+v, %v", c.kind, c.value, caller, err)
		}
	}
	// Without holders a certificate is no more than a way to connect.
	if _, err := signin.NewDesk(newRing(t), false).Certificate(t.Context(), orders); !errors.Is(err, keys.ErrUnknown) {
		t.Error(err)
	}
	if caller, err := signin.NewDesk(newRing(t), true).Certificate(t.Context(), orders); err != nil || caller.Name != "" {
		t.Errorf("%+v, %v", caller, err)
	}
}
