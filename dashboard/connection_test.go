package dashboard_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

// The server goes and comes back: the page says so, keeps what was typed, and goes on without a reload.
func TestServerGoneAndBack(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "127.0.0.1:0")
	address := strings.TrimPrefix(s.url, "http://")
	p := open(t, s.url, "#/playground")
	p.fill("Name", "alice")
	p.sees("Can be had")
	eval[bool](p, "(window.same = true)")
	s.kill()
	p.keys("x")
	p.sees("The server does not answer.")
	s = serve(t, dir, address)
	p.misses("The server does not answer.")
	p.holds("window.same && document.querySelector('.play-input input').value === 'alicex'")
	reg := s.registry(t, "")
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "alicex", Entity: wedding(1)}); err != nil {
		t.Fatal(err)
	}
	p.goTo("#/events")
	p.sees("Waiting for events")
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "later", Entity: wedding(2)}); err != nil {
		t.Fatal(err)
	}
	p.goTo("#/name/slug/later")
	p.sees("wedding/2")
}

// Events show as they are committed; a pause keeps the page as it is.
func TestLiveTail(t *testing.T) {
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	claim := func(value string, id int) {
		t.Helper()
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: value, Entity: wedding(id)}); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, s.url, "#/events")
	p.sees("Waiting for events")
	claim("first", 1)
	p.sees("slug:first")
	p.click("Pause")
	claim("second", 2)
	p.sees("1 new")
	p.holds("!document.body.innerText.includes('slug:second')")
	eval[bool](p, "(document.querySelector('[aria-pressed=true].button').click(), true)")
	p.sees("slug:second")
	p.fill("Entity", "wedding/2")
	p.misses("slug:first")
	p.sees("slug:second")
}
