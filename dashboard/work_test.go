package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/calldibs/dibs"
)

// An operator makes a key, sees its secret once, and revokes it, by keyboard alone. The key works while it is there, and its session in
// another browser ends with it.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	p := signIn(t, s, "#/keys", s.key(t, "admin", "--may", "all", "--in", "*"))
	p.tabTo("New key")
	p.keys(kb.Enter)
	p.keys("support") // the field has the focus at once
	p.keys(kb.Tab)
	eval[bool](p, "(document.activeElement.select(), true)")
	p.keys("read, fly")
	p.keys(kb.Enter)
	p.holds("document.querySelector('dialog .problem')?.innerText.includes('fly')")
	p.fill("May", "read watch")
	p.keys(kb.Enter)
	p.sees("It is shown only now.")
	p.isAccessible("a new key")
	secret := eval[string](p, "document.querySelector('dialog pre').innerText")
	p.tabTo("I have kept it")
	p.keys(kb.Enter)
	p.holds("!document.querySelector('dialog')")
	p.holds("document.querySelector('main table').innerText.includes('support')")
	p.holds("!document.body.innerHTML.includes(%s)", quoted(secret))
	if !strings.HasPrefix(secret, "dibs_") {
		t.Fatalf("the secret is %q", secret)
	}

	other := signIn(t, s, "#/events", secret)
	other.sees("others as they come")
	p.tabTo("Revoke support")
	p.keys(kb.Enter)
	p.sees("Calls with this key will be refused")
	p.tabTo("Revoke")
	p.keys(kb.Enter)
	p.holds("!document.querySelector('dialog')")
	p.holds("!document.querySelector('main table').innerText.includes('support')")
	other.sees("Your session is over")
}

// Webhooks: made, tested, turned off and on, and a dead letter that is sent again once its receiver is repaired.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	writeConfig(t, dir, "[webhooks]\nallowPrefixes = [\"127.0.0.0/8\"]\npauses = [\"10ms\"]\ngiveUpAfter = \"1s\"\n")
	s := serve(t, dir, "127.0.0.1:0", "--config", "dibs.toml")
	reg := s.registry(t, "")
	p := open(t, s.url, "#/webhooks")
	p.click("New webhook")
	p.keys("http://10.0.0.1/")
	p.keys(kb.Enter)
	p.holds("document.querySelector('dialog .problem')?.innerText.length > 10")
	p.fill("URL", receiver.URL)
	p.keys(kb.Enter)
	p.sees("The secret of the webhook")
	p.click("I have kept it")
	p.click(receiver.URL)
	p.sees("No dead letters")
	p.click("Send a test")
	p.sees("The receiver accepted a test event")
	p.click("Turn off")
	p.sees("Events wait in the feed now.")
	p.click("Turn on")
	p.sees("Events are sent again.")

	broken.Store(true)
	for i := range 2 {
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: fmt.Sprintf("name %d", i), Entity: wedding(i)}); err != nil {
			t.Fatal(err)
		}
	}
	p.holds("document.querySelectorAll('main tbody tr').length >= 1")
	p.sees("418")
	p.isAccessible("dead letters")
	p.click("Send again")
	p.sees("The receiver did not accept it")
	broken.Store(false)
	p.click("Send again")
	p.sees("The receiver accepted it.")
	await(t, "every event is delivered or a dead letter", func() bool {
		return eval[bool](p, "fetch('/v1' + location.hash.slice(1)).then((r) => r.json()).then((hook) => hook.status.behind === 0)")
	})
	if eval[bool](p, "Boolean(document.querySelector('main tbody tr'))") {
		p.click("Send all again")
	}
	p.sees("No dead letters")
}

// The page of the policies shows what differs from the default, the stores behind the scopes, and the limits.
func TestPoliciesRoutesAndLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeConfig(t, dir, `[limits]
reads = "1234/s"
[policies.slug]
profile = "slug"
quarantine = "720h"
[[routes]]
name = "eu"
scopes = ["acme", "globex.*"]
store = "sqlite:eu.db"
`)
	s := serve(t, dir, "127.0.0.1:0", "--config", "dibs.toml")
	p := open(t, s.url, "#/policies")
	p.sees("1234/s")
	p.sees("sqlite, scopes acme, globex.*")
	p.sees("sqlite, all scopes without a route")
	p.holds("[...document.querySelectorAll('.card')].some((card) => card.innerText.startsWith('slug') && card.querySelector('.own')?.innerText.includes('30 days'))")
	p.isAccessible("policies")
	reg := s.registry(t, "")
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "acme.slug", Value: "shop", Entity: wedding(1)}); err != nil {
		t.Fatal(err)
	}
	p.goTo("#/")
	p.sees("acme.slug")
	p.sees("Store eu")
	p.goTo("#/events")
	p.click("From a time")
	p.sees("acme.slug:shop")
}
