package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/authtest"
	"github.com/calldibs/dibs/internal/freeport"
)

// key makes a key, and returns its secret.
func (s *server) key(t *testing.T, name string, args ...string) string {
	t.Helper()
	out := s.dibs(t, append([]string{"keys", "create", name, "--store", "sqlite:dibs.db"}, args...)...)
	secret := regexp.MustCompile(`dibs_\S+`).FindString(out)
	if secret == "" {
		t.Fatalf("there is no secret in %q", out)
	}
	await(t, "the server knows that there is a key", func() bool { return s.needsAKey(t) })
	return secret
}

// needsAKey reports whether the server refuses callers without a key: it learns of the first key a moment
// after it was made by another process.
func (s *server) needsAKey(t *testing.T) bool {
	t.Helper()
	response, err := http.Get(s.url + "/v1/me")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusUnauthorized
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
	t.Parallel()
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
	t.Parallel()
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

// A session ends when its key is revoked. The page asks to sign in again and hides what it shows; the same caller goes on where it
// was, with what it typed, and another one begins at the same address.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	admin := s.key(t, "admin", "--may", "all", "--in", "*")
	reg := s.registry(t, admin)
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: wedding(42)}); err != nil {
		t.Fatal(err)
	}
	makeKey := func(name string) string { return s.key(t, name, "--may", "all", "--in", "*") }
	p := signIn(t, s, "#/name/slug/alice-bob", makeKey("operator"))
	p.click("Rename")
	p.fill("New name", "The Millers")

	s.dibs(t, "keys", "revoke", "operator", "--store", "sqlite:dibs.db")
	p.sees("Your session is over") // without a click: the page asks for counts
	p.isAccessible("a session that is over")
	p.holds("getComputedStyle(document.querySelector('.signin-again'), '::backdrop').backgroundColor === getComputedStyle(document.body).backgroundColor")
	p.fill("API key", "dibs_wrong")
	p.keys(kb.Enter)
	p.holds("document.querySelector('.signin-again .problem')?.innerText.length > 10")
	p.fill("API key", makeKey("operator"))
	p.keys(kb.Enter)
	p.misses("Your session is over")
	p.holds("document.querySelector('dialog[open] input').value === 'The Millers'")
	p.click("See what happens")
	p.sees("alice-bob will redirect to the-millers")
	p.click("Rename")
	p.sees("alias")
	p.goTo("#/playground?value=Anna")
	p.sees("Can be had")

	s.dibs(t, "keys", "revoke", "operator", "--store", "sqlite:dibs.db")
	p.sees("Your session is over")
	p.fill("API key", makeKey("another"))
	p.keys(kb.Enter)
	p.sees("another")
	p.holds("document.querySelector('.play-input input').value === 'Anna'")
}

// A session that is gone, here with its cookie, is over too; and when another tab has signed in, this one goes on.
func TestSessionOfTwoTabs(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	secret := s.key(t, "operator", "--may", "all", "--in", "*")
	p := signIn(t, s, "#/webhooks", secret)
	p.click("New webhook")
	p.fill("URL", "https://example.com/dibs")
	if _, err := chromedp.Call(p.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	p.click("Make it")
	p.sees("Your session is over")
	other := p.another("#/")
	other.sees("Sign in to Dibs")
	other.fill("API key", secret)
	other.keys(kb.Enter)
	other.sees("No names yet")
	eval[bool](p, "document.dispatchEvent(new Event('visibilitychange'))")
	p.misses("Your session is over")
	p.holds("document.querySelector('dialog[open] input').value === 'https://example.com/dibs'")
	p.click("Make it")
	p.sees("The secret of the webhook")
}

// A caller signs in at an issuer and comes back to its page, with the rights that the rules of the issuer give; a failure is explained.
func TestOIDC(t *testing.T) {
	t.Parallel()
	issuer := authtest.NewIssuer(t)
	address, dir := freeport.Address(t), t.TempDir()
	// The issuer is at 127.0.0.1: by another name the server is another site to the browser, as it would be.
	site := strings.Replace(address, "127.0.0.1", "localhost", 1)
	writeConfig(t, dir, fmt.Sprintf(`[[oidc]]
issuer = %q
audience = "dibs"
clientId = "dibs"
redirectURL = "http://%s/auth/oidc/callback"
rules = [{ claim = "groups", value = "support", grants = [{ may = ["read", "watch"], in = ["*"] }] }]
`, issuer.URL, site))
	serve(t, dir, address, "--config", "dibs.toml")
	button := "Sign in with " + issuer.URL
	p := open(t, "http://"+site, "#/conflicts")
	p.click(button)
	p.sees("The issuer did not let you in.")
	issuer.Person.Store(&authtest.Person{Subject: "eve"})
	p.click(button)
	p.sees("You are signed in, but have no rights here")
	issuer.Person.Store(&authtest.Person{Subject: "alice", Claims: authtest.Claims{"groups": []string{"support"}}})
	p.goTo("#/conflicts")
	p.click(button)
	p.sees("No conflicts")
	p.holds("location.hash === '#/conflicts' && document.cookie === '' && document.querySelector('.side footer').innerText.includes('#alice')")
	p.holds("!document.querySelector('nav').innerText.includes('Webhooks')")
	p.click("Sign out")
	p.sees("Sign in to Dibs")
}
