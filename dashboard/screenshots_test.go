package dashboard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/calldibs/dibs"
)

// scene is a picture: a page, and what happens on it before.
type scene struct {
	page
	act func(p *tab)
}

var scenes = []scene{
	{page{"rename", "#/name/slug/anna-and-max", "wedding/42"}, func(p *tab) {
		p.click("Rename")
		p.fill("New name", "The Millers of Bath")
		p.click("See what happens")
		p.sees("for good")
	}},
	{page{"race", "#/playground?value=The%20Queen%27s%20Head", "Can be had"}, func(p *tab) {
		p.click("Let 100 callers race")
		p.sees("One winner")
		eval[bool](p, "(document.querySelector('.runners').scrollIntoView({ block: 'center' }), true)")
	}},
	{page{"palette", "#/", "acme.slug"}, func(p *tab) {
		p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		p.holds("document.querySelectorAll('[role=option]').length > 3")
	}},
}

// Screenshots of every page, light and dark, wide and narrow, for the documentation: make screenshots.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("DIBS_SCREENSHOTS")
	if folder == "" {
		t.Skip("make screenshots sets the folder")
	}
	s := serveWithWitness(t)
	reg := s.registry(t, "")
	seed(t, reg)
	prepare(t, reg)
	live(t, reg, os.Getenv("DIBS_SCREENSHOTS_LIVE"))
	p := open(t, s.url, "")
	for _, page := range pages {
		if page.name == "suspects" {
			page.complete = "slug:suspect"
		}
		shoot(p, folder, scene{page, func(*tab) {}})
	}
	for _, scene := range scenes {
		p = open(t, s.url, "")
		shoot(p, folder, scene)
	}
}

// live lets a registry live for a while, so that the pictures have something to show: a name that changes owners, and traffic.
func live(t *testing.T, reg *dibs.Registry, howLong string) {
	t.Helper()
	span, err := time.ParseDuration(howLong)
	if err != nil {
		span = 10 * time.Second
	}
	began, turn := time.Now(), 0
	for ; time.Since(began) < span; time.Sleep(100 * time.Millisecond) {
		turn++
		hold, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("guest %d", turn), Entity: wedding(5000 + turn)})
		if err != nil {
			t.Fatal(err)
		}
		if turn%4 != 0 {
			_, err = reg.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: wedding(5000 + turn)})
		} else {
			_, err = reg.Release(t.Context(), dibs.Release{ID: hold.ID, Token: hold.Token})
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: []string{"Alice & Bob", "Carol & Dave", "Anna and Max", "Bob & Alice"}[turn*turn*turn%7%4]}) // it is taken
		third := int(time.Since(began) * 3 / span)
		rename(t, reg, []string{"Miller Wedding", "Anna and Max", "Miller Wedding", "Anna and Max"}[third])
	}
	rename(t, reg, "Anna and Max")
}

// rename gives wedding/42 a name, which it may have already.
func rename(t *testing.T, reg *dibs.Registry, value string) {
	t.Helper()
	if _, err := reg.Rename(t.Context(), dibs.Rename{Namespace: "slug", Value: value, Entity: wedding(42)}); err != nil {
		t.Fatal(err)
	}
}

func shoot(p *tab, folder string, s scene) {
	p.Helper()
	p.goTo(s.hash)
	p.sees(s.complete)
	s.act(p)
	for _, look := range []struct {
		name          string
		width, height int64
		dark          bool
	}{{"light", 1360, 850, false}, {"dark", 1360, 850, true}, {"narrow", 390, 844, false}, {"narrow-dark", 390, 844, true}} {
		p.size(look.width, look.height)
		p.dark(look.dark)
		eval[bool](p, "new Promise((done) => setTimeout(() => done(true), 400))") // charts and pictures follow the size
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, s.name+"-"+look.name+".png"), picture, 0o600); err != nil {
			p.Fatal(err)
		}
	}
	p.size(1440, 900)
}
