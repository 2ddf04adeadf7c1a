package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/calldibs/dibs"
)

const token = "a-random-secret-of-mine"

// action is an action of the dashboard: where its button is, what to type, what the dialog says before it, and what is so after it.
type action struct {
	hash, button string
	typed        []string // field by field
	words        string
	key          string // the name that is looked at
	state        dibs.State
	owner        dibs.Entity
}

var actions = []action{
	{"#/name/slug/held", "Extend", []string{token, "7200"}, "The hold on held will last until", "held", dibs.Held, wedding(1)},
	{"#/name/slug/held", "Release", []string{token}, "The hold on held will end: it will be free for every caller.", "held", dibs.Free, dibs.Entity{}},
	{"#/name/slug/first", "Rename", []string{"The Millers"}, "first will redirect to the-millers, for good.", "first", dibs.Alias, wedding(10)},
	{"#/entity/wedding/10", "Rename", []string{"slug", "The Smiths"}, "the-smiths will be the name of wedding/10.", "the-smiths", dibs.Active, wedding(10)},
	{"#/name/slug/second", "Transfer", []string{"wedding/21"}, "second will belong to wedding/21 instead of wedding/20.", "second", dibs.Active, wedding(21)},
	{"#/name/slug/third", "Swap", []string{"fourth", "wedding/40"}, "third will belong to wedding/40 instead of wedding/30.", "third", dibs.Active, wedding(40)},
	{"#/entity/wedding/50", "Archive", nil, "No name of wedding/50 will resolve any more.", "fifth", dibs.Active, wedding(50)},
	{"#/entity/wedding/50", "Restore", nil, "The names of wedding/50 will resolve again.", "fifth", dibs.Active, wedding(50)},
	{"#/name/slug/fifth", "Decommission", nil, "fifth will no longer belong to wedding/50: it stays reserved for wedding/50 until", "fifth", dibs.Quarantined, wedding(50)},
	{"#/suspects", "Settle", []string{"", ""}, "suspect will be the name of wedding/1.", "suspect", dibs.Active, wedding(1)},
}

// Every action, by keyboard alone: a dry run that says what will happen and changes nothing, and then the change.
func TestActionsByKeyboard(t *testing.T) {
	t.Parallel()
	s := serveWithWitness(t)
	reg := s.registry(t, "")
	prepare(t, reg)
	p := open(t, s.url, "#/suspects")
	p.sees("slug:suspect")
	for _, a := range actions {
		p.goTo(a.hash)
		p.tabTo(a.button)
		before := lookUp(t, reg, a.key)
		p.keys(kb.Enter)
		p.holds("document.querySelector('dialog[open]')")
		for i, text := range a.typed {
			if i > 0 {
				p.keys(kb.Tab)
			}
			if text != "" {
				eval[bool](p, "(document.activeElement.select(), true)")
				p.keys(text)
			}
		}
		if len(a.typed) > 0 {
			p.keys(kb.Enter)
		}
		p.sees(a.words)
		if after := lookUp(t, reg, a.key); after.State != before.State || after.Entity != before.Entity || after.Epoch != before.Epoch {
			t.Errorf("%s: the dry run made %v of %v", a.button, after, before)
		}
		p.tabTo(a.button)
		p.keys(kb.Enter)
		p.holds("!document.querySelector('dialog')")
		if after := lookUp(t, reg, a.key); after.State != a.state || a.owner != (dibs.Entity{}) && after.Entity != a.owner {
			t.Errorf("%s: it is %v of %v", a.button, after.State, after.Entity)
		}
	}
}

// serveWithWitness starts a server whose slugs have a quarantine, and a witness that never knows.
func serveWithWitness(t *testing.T) *server {
	t.Helper()
	witness := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(witness.Close)
	dir := t.TempDir()
	writeConfig(t, dir, fmt.Sprintf("sweepEvery = \"100ms\"\n[witnesses.orders]\nurl = %q\n[policies.slug]\nprofile = \"slug\"\nquarantine = \"720h\"\nwitness = \"orders\"\n", witness.URL))
	return serve(t, dir, "127.0.0.1:0", "--config", "dibs.toml")
}

func prepare(t *testing.T, reg *dibs.Registry) {
	t.Helper()
	for value, id := range map[string]int{"first": 10, "second": 20, "third": 30, "fourth": 40, "fifth": 50} {
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: value, Entity: wedding(id)}); err != nil {
			t.Fatal(err)
		}
	}
	for value, ttl := range map[string]time.Duration{"held": time.Hour, "suspect": time.Second} {
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value, Token: token, TTL: dibs.For(ttl), Entity: wedding(1)}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the hold is a suspect", func() bool { return lookUp(t, reg, "suspect").State == dibs.Suspect })
}

func lookUp(t *testing.T, reg *dibs.Registry, value string) dibs.Name {
	t.Helper()
	name, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: value})
	if err != nil && value != "the-smiths" {
		t.Fatal(err)
	}
	return name
}
