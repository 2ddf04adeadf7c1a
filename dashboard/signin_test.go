package dashboard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/calldibs/dibs"
)

// key makes a key, and returns its secret.
func (s *server) key(t *testing.T, name string, args ...string) string {
	t.Helper()
	out := s.dibs(t, append([]string{"keys", "create", name, "--store", "sqlite:dibs.db"}, args...)...)
	secret := regexp.MustCompile(`dibs_\S+`).FindString(out)
	if secret == "" {
		t.Fatalf("there is no secret in %q", out)
	}
	return secret
}

// signIn opens a page and signs in with a key.
func signIn(t *testing.T, s *server, hash, secret string) *tab {
	t.Helper()
	p := open(t, s.url, hash)
	p.sees("Sign in to Dibs")
	p.fill("API key", secret)
	p.keys(kb.Enter)
	p.misses("Sign in to Dibs")
	return p
}

// A caller signs in with a key; what it does is in the events under its name; it signs out.
func TestSignIn(t *testing.T) {
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	admin := s.key(t, "support", "--may", "all", "--in", "*")
	reg := s.registry(t, admin)
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: wedding(42)}); err != nil {
		t.Fatal(err)
	}
	p := open(t, s.url, "#/entity/wedding/42")
	p.sees("Sign in to Dibs")
	p.isAccessible("sign in")
	p.fill("API key", "dibs_wrong")
	p.keys(kb.Enter)
	p.holds("document.querySelector('.problem')?.innerText.length > 10")
	p.holds("document.querySelector('input').value === 'dibs_wrong'")
	p.fill("API key", admin)
	p.keys(kb.Enter)
	p.sees("version 1") // the page that was asked for
	p.holds("document.cookie === '' && !localStorage.length")
	p.click("Archive")
	p.sees("No name of wedding/42 will resolve any more.")
	p.click("Archive")
	p.sees("archived")
	p.goTo("#/name/slug/alice-bob")
	p.sees("support")
	p.click("Sign out")
	p.sees("Sign in to Dibs")
	if status := eval[int](p, "fetch('/v1/me').then((r) => r.status)"); status != 401 {
		t.Errorf("after signing out a call is %d", status)
	}
}

// A key that may only read sees no action, and no page that it cannot use.
func TestReadOnlyKey(t *testing.T) {
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, s.key(t, "admin", "--may", "all", "--in", "*"))
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: wedding(42)}); err != nil {
		t.Fatal(err)
	}
	p := signIn(t, s, "#/name/slug/alice-bob", s.key(t, "reader", "--may", "read", "--in", "*"))
	p.sees("wedding/42")
	p.sees("claimed")
	for _, action := range []string{"Rename", "Transfer", "Swap", "Decommission"} {
		p.holds("!document.body.innerText.includes(%s)", quoted(action))
	}
	if menu := eval[string](p, "document.querySelector('nav').innerText"); strings.Contains(menu, "Webhooks") || strings.Contains(menu, "Events") {
		t.Errorf("the menu is %s", menu)
	}
	p.goTo("#/playground")
	p.sees("Your key has no right to reserve here.")
	p.goTo("#/")
	p.sees("Your key sees single names")
}

// A session ends when its key is revoked: every page asks to sign in, and the page comes back after it.
func TestRevokedKey(t *testing.T) {
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	s.key(t, "admin", "--may", "all", "--in", "*")
	p := signIn(t, s, "#/playground", s.key(t, "operator", "--may", "all", "--in", "*"))
	p.fill("Name", "Alice & Bob")
	p.sees("Can be had")
	s.dibs(t, "keys", "revoke", "operator", "--store", "sqlite:dibs.db")
	p.sees("Sign in to Dibs")
	p.fill("API key", s.key(t, "another", "--may", "all", "--in", "*"))
	p.keys(kb.Enter)
	p.sees("Race for it")
	p.holds("document.querySelector('.play-input input').value === 'Alice & Bob'")
}
