package dashboard_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/calldibs/dibs"
)

// A rename, from search to confirmation, by keyboard alone: the dialog says what will happen, and another tab sees it.
func TestRenameByKeyboard(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "Alice & Bob", Entity: wedding(42)}); err != nil {
		t.Fatal(err)
	}
	p := open(t, s.url, "")
	p.sees("Names by namespace")
	other := p.another("#/entity/wedding/42")
	other.sees("alice-bob")

	p.keys("/")
	p.holds("document.activeElement.id === 'search'")
	p.keys("ALICE + BOB")
	p.holds("document.querySelector('#search-hits [role=option]')?.innerText.includes('slug:alice-bob')")
	p.keys(kb.Enter)
	p.holds("location.hash === '#/name/slug/alice-bob'")
	p.sees("Rename")
	p.tabTo("Rename")
	p.keys(kb.Enter)
	p.holds("document.activeElement.matches('dialog input')")
	p.keys("The Millers")
	p.keys(kb.Enter)
	p.sees("alice-bob will redirect to the-millers, for good.")
	p.sees("the-millers will be the name of wedding/42.")
	if name, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "the-millers"}); err == nil {
		t.Errorf("the dry run made %v", name)
	}
	p.tabTo("Rename")
	p.keys(kb.Enter)
	p.holds("!document.querySelector('dialog')")
	p.sees("alias")
	other.sees("the-millers")
	resolution, err := reg.Resolve(t.Context(), "slug", "alice-bob")
	if err != nil || resolution.To == nil || resolution.To.Canonical != "the-millers" {
		t.Errorf("it leads to %v, %v", resolution, err)
	}
}

// tabTo presses Tab until the focus is on a button or link with a text.
func (p *tab) tabTo(text string) {
	p.Helper()
	for range 60 {
		if eval[bool](p, "(document.activeElement.ariaLabel ?? document.activeElement.innerText)?.trim() === %s", quoted(text)) {
			return
		}
		p.keys(kb.Tab)
	}
	p.Fatalf("Tab does not lead to %q", text)
}

// The palette leads to every page without a mouse.
func TestPalette(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	p := open(t, s.url, "")
	p.sees("No names yet")
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.holds("document.activeElement.matches('dialog.palette input')")
	p.keys("webh")
	p.holds("document.querySelectorAll('[role=option]').length === 1")
	p.keys(kb.Enter)
	p.sees("No webhooks")
	await(t, "two keys lead to the playground", func() bool { // if the machine is not too busy between them
		p.keys("gp")
		for range 100 {
			if eval[bool](p, "document.body.innerText.includes('Race for it')") {
				return true
			}
			time.Sleep(20 * time.Millisecond)
		}
		return false
	})
	p.goTo("#/")
	p.sees("No names yet")
	p.keys("?")
	p.sees("Keyboard shortcuts")
	p.keys(kb.Escape)
	p.holds("!document.querySelector('dialog')")
}

// A hundred callers race for one name: one wins, and gives it back.
func TestRace(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	p := open(t, s.url, "#/playground?value=Alice%20%26%20Bob")
	p.click("Let 100 callers race")
	p.sees("One winner, 99 refused")
	p.holds("document.querySelectorAll('.runners .won').length === 1 && document.querySelectorAll('.runners .refused').length === 99")
	reg := s.registry(t, "")
	await(t, "the winner releases it", func() bool {
		name, err := reg.Get(t.Context(), dibs.Lookup{Namespace: "slug", Value: "alice-bob"})
		return err == nil && name.State == dibs.Free
	})
	p.goTo("#/events")
	p.click("From a time")
	p.sees("released")
	p.goTo("#/conflicts")
	p.sees("held")
}
