package dashboard_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/calldibs/dibs"
)

// page is a page of the dashboard, and a text that shows that it is complete.
type page struct{ name, hash, complete string }

var pages = []page{
	{"overview", "#/", "acme.slug"},
	{"names", "#/names", "alice-bob"},
	{"name", "#/name/slug/anna-and-max", "wedding/42"},
	{"entity", "#/entity/wedding/42", "miller-wedding"},
	{"playground", "#/playground?value=Alice%20%26%20Bob", "Can be had"},
	{"events", "#/events", "others as they come"},
	{"conflicts", "#/conflicts", "in use"},
	{"suspects", "#/suspects", "Nothing waits"},
	{"events-past", "#/events?show=past", "slug:alice-bob"},
	{"webhooks", "#/webhooks", "No webhooks"},
	{"keys", "#/keys", "No keys yet"},
	{"policies", "#/policies", "Limits"},
	{"missing", "#/nothing/here", "There is no such page"},
}

//go:embed testdata/axe.min.js
var axe string

// Every page works without errors, in light and dark, wide and narrow, and has no serious fault for people who cannot see,
// or use no mouse.
func TestPages(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	seed(t, s.registry(t, ""))
	half := (len(pages) + 1) / 2
	for name, pages := range map[string][]page{"first": pages[:half], "second": pages[half:]} { // in two tabs at once
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, s.url, "")
			for _, page := range pages {
				p.isInOrder(page)
			}
		})
	}
}

// isInOrder checks a page in each form.
func (p *tab) isInOrder(page page) {
	p.Helper()
	p.goTo(page.hash)
	p.sees(page.complete)
	p.isAccessible(page.name)
	p.dark(true)
	p.hasContrast(page.name + ", dark") // nothing but colours is different
	p.dark(false)
	p.size(390, 844)
	p.fits(page.name)
	p.isAccessible(page.name + ", narrow")
	p.size(1440, 900)
}

// isAccessible runs axe-core, and fails for findings above minor.
func (p *tab) isAccessible(what string) {
	p.Helper()
	p.runAxe(what, "")
}

// hasContrast is the part of isAccessible that depends on colours.
func (p *tab) hasContrast(what string) {
	p.Helper()
	p.runAxe(what, `runOnly: ["color-contrast"],`)
}

func (p *tab) runAxe(what, options string) {
	p.Helper()
	if !eval[bool](p, "'axe' in window") {
		eval[bool](p, "%s\ntrue", axe)
	}
	const run = `axe.run(document, { %s resultTypes: ["violations"] }).then((r) => r.violations
		.filter((v) => v.impact !== "minor")
		.map((v) => v.impact + " " + v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.any.map((a) => a.message).join("; ")).join(" | ")))`
	for _, finding := range eval[[]string](p, run, options) {
		p.Errorf("%s: %s", what, finding)
	}
}

// fits checks that the page is not wider than the window.
func (p *tab) fits(what string) {
	p.Helper()
	if over := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		p.Errorf("%s is %d pixels wider than the window: %s", what, over, eval[string](p, "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest('.scroll, .heat-space, .timeline')).slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(' | ')"))
	}
}

// The table of an entity says when the state of each name ends. An active name, and an alias that redirects for good, have no end,
// and not that of the hold that they once were.
func TestEntityShowsEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	for _, value := range []string{"first", "second"} {
		held, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: value, Entity: wedding(1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reg.Confirm(t.Context(), dibs.Confirm{ID: held.ID, Token: held.Token, Entity: wedding(1), Replace: true}); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, s.url, "#/entity/wedding/1")
	const end = "[...document.querySelectorAll('main tbody tr')].find((r) => r.cells[1].innerText === %s)?.cells[5].innerText === %s"
	p.holds(end, quoted("first"), quoted("for good"))
	p.holds(end, quoted("second"), quoted("–"))
}

// Values that try to be markup are shown as text, wherever they come from and wherever they show: names, owners, meta, correlation ids,
// what a person types, and what the server answers to it.
func TestMarkupIsText(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	evil := `<img src=x onerror="document.title='broken'">`
	owner := dibs.Entity{Type: evil, ID: evil}
	hold, err := reg.Reserve(t.Context(), dibs.Reserve{
		Namespace: "title", Value: evil, Entity: owner, CorrelationID: evil, Meta: map[string]string{evil: evil},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "title", Value: evil}); err == nil {
		t.Fatal("two callers got one name")
	}
	p := open(t, s.url, "")
	isText := func() {
		t.Helper()
		p.sees("onerror=")
		p.holds("!document.querySelector('img') && document.title !== 'broken'")
	}
	nameHash := "#/name/title/" + escaped(evil)
	for _, hash := range []string{"#/", "#/names", nameHash, "#/playground?namespace=title&value=" + escaped(evil), "#/events?show=past", "#/conflicts"} {
		p.goTo(hash)
		isText()
	}
	p.goTo("#/events?show=past&entity=" + escaped(evil))
	p.click("More")
	p.holds("document.querySelector('.detail pre').innerText.split('onerror').length > 5") // with meta and correlation id
	isText()
	p.keys("/")
	p.holds("document.activeElement.id === 'search'")
	eval[bool](p, "(document.activeElement.select(), true)")
	p.keys(evil)
	p.holds("document.querySelector('#search-hits [role=option]')?.innerText.includes('onerror')")
	isText()
	p.keys(kb.Enter)
	p.holds("location.hash.startsWith('#/name/title/')")

	if _, err := reg.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: owner}); err != nil {
		t.Fatal(err)
	}
	p.goTo("#/")
	p.goTo(nameHash) // it has the name as it is now
	p.click("Rename")
	p.fill("New name", evil+"2")
	p.click("See what happens")
	p.holds("document.querySelector('.words')?.innerText.includes('onerror')")
	isText()
	p.click("Rename")
	p.holds("document.querySelector('.toast')?.innerText.includes('onerror')")
	p.goTo("#/entity/" + escaped(evil) + "/" + escaped(evil))
	p.sees("version 2")
	isText()
	p.goTo("#/webhooks")
	p.click("New webhook")
	p.keys("https://" + evil)
	p.keys(kb.Enter)
	p.holds("document.querySelector('dialog .problem')?.innerText.length > 10 && !document.querySelector('img')")
}

// Names in other scripts and of any length are shown whole, and break no page.
func TestUnusualNames(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	long := strings.Repeat("abcdefgh", 128)
	p := open(t, s.url, "")
	for i, name := range []string{"مرحبا بالعالم", "🎉👩‍👩‍👧", long} {
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "title", Value: name, Entity: wedding(i)}); err != nil {
			t.Fatal(err)
		}
		p.goTo("#/name/title/" + escaped(name))
		p.sees(name)
		p.sees("claimed")
		for _, hash := range []string{"#/name/title/" + escaped(name), "#/names", "#/entity/wedding/" + string(rune('0'+i))} {
			p.goTo(hash)
			p.size(390, 844)
			p.sees(string([]rune(name)[:3]))
			p.fits(hash[:min(len(hash), 20)])
			p.size(1440, 900)
		}
	}
}

func escaped(text string) string {
	return strings.NewReplacer("%", "%25", " ", "%20", "<", "%3C", ">", "%3E", `"`, "%22", "/", "%2F", "&", "%26", "?", "%3F", "#", "%23").Replace(text)
}
