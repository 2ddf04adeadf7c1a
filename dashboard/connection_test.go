package dashboard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/freeport"
)

// The server goes and comes back: the page says so, keeps what was typed, and goes on without a reload.
func TestServerGoneAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address := freeport.Address(t)
	s := serve(t, dir, address)
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
	p.sees("others as they come")
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "later", Entity: wedding(2)}); err != nil {
		t.Fatal(err)
	}
	p.goTo("#/name/slug/later")
	p.sees("wedding/2")
}

// Events show as they are committed; a pause keeps the page as it is.
func TestLiveTail(t *testing.T) {
	t.Parallel()
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
	p.sees("others as they come")
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

// The live page begins with the newest events, newest first, and shows none of them twice when others come.
func TestLiveTailBeginsWithTheNewest(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	claim := func(i int) {
		t.Helper()
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: fmt.Sprintf("name-%d", i), Entity: wedding(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		claim(i)
	}
	const names = "[...document.querySelectorAll('main tbody tr')].map((r) => r.innerText.match(/name-[0-9]+/)[0])"
	p := open(t, s.url, "#/events")
	p.sees("others as they come")
	p.holds(names + ".length === 30 && " + names + "[0] === 'name-39'")
	claim(40)
	p.holds(names + "[0] === 'name-40' && new Set(" + names + ").size === 30")
	p.fill("Entity", "wedding/7")
	p.holds(names + ".join() === 'name-7'")
}

// Events from a time, from a cursor, and of one kind, page by page.
func TestPastEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	reg := s.registry(t, "")
	for i := range 120 {
		if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: fmt.Sprintf("name-%d", i), Entity: wedding(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reg.Archive(t.Context(), dibs.Archive{Entity: wedding(7)}); err != nil {
		t.Fatal(err)
	}
	p := open(t, s.url, "#/events")
	p.click("From a time")
	const rows = "document.querySelectorAll('main tbody tr').length === %d"
	p.sees("slug:name-49")
	p.holds(rows, 50)
	p.click("Later")
	p.sees("slug:name-99")
	p.click("Later")
	p.sees("slug:name-119")
	p.holds(rows+" && [...document.querySelectorAll('button')].find((b) => b.innerText === 'Later').disabled", 21)
	p.click("Earlier")
	p.sees("slug:name-99")
	p.goTo("#/events?show=past&kind=archived")
	p.holds(rows, 1)
	p.goTo("#/events?show=past&entity=wedding/7&after=" + string(firstEvents(t, reg, 5).Next))
	p.holds(rows, 12) // wedding/7, 70 to 79, and the archiving
	tomorrow, yesterday := time.Now().AddDate(0, 0, 1).Format("2006-01-02T15:04"), time.Now().AddDate(0, 0, -1).Format("2006-01-02T15:04")
	p.goTo("#/events?show=past&from=" + tomorrow)
	p.sees("Nothing has happened since then")
	p.goTo("#/events?show=past&from=" + yesterday)
	p.holds(rows, 50)
	p.goTo("#/events?show=past&after=made-up")
	p.holds("document.querySelector('.problem')?.innerText.includes('cursor')")
}

// firstEvents returns the beginning of the feed.
func firstEvents(t *testing.T, reg *dibs.Registry, limit int) dibs.EventPage {
	t.Helper()
	page, err := reg.Events(t.Context(), dibs.FeedQuery{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return page
}
