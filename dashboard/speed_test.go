package dashboard_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// measuring reports whether times count: they mean something only on a machine that does nothing else.
func measuring() bool { return os.Getenv("DIBS_TEST_LONG") != "" }

// allowed returns how many times its goal a measurement may be: make baselines runs on machines of every
// sort, make dashboard-goals on one that is known.
func allowed() int {
	if os.Getenv("DIBS_TEST_LONG") == "goals" {
		return 1
	}
	return 3
}

// tries returns how often a time is measured at most: the best counts. Without goals one that is good enough ends it.
func tries(most int) int {
	if !measuring() {
		return 1
	}
	return most
}

// goodEnough reports whether a time need not be measured again: it is within its limit, and only goals want the best.
func goodEnough(within bool) bool { return within && os.Getenv("DIBS_TEST_LONG") != "goals" }

// The first page is small, and shows its figures soon after it was asked for, with an empty cache: the best of several.
func TestFirstPage(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "127.0.0.1:0")
	seed(t, s.registry(t, ""))
	const usable = `new MutationObserver((_, observer) => {
		if (!/\d/.test(document.querySelector(".figures dd")?.innerText ?? "")) return;
		window.usableAt = performance.now();
		observer.disconnect();
	}).observe(document, { childList: true, subtree: true, characterData: true })`
	most := time.Duration(300*allowed()) * time.Millisecond
	best, bytes := time.Hour, 0
	for range tries(10) {
		p := newTab(t, s.url)
		if _, err := chromedp.Call(p.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: usable}); err != nil {
			t.Fatal(err)
		}
		p.start("")
		p.holds("window.usableAt")
		best = min(best, time.Duration(eval[float64](p, "window.usableAt")*float64(time.Millisecond)))
		const all = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter((e) => !e.name.includes("/v1/")).reduce((sum, e) => sum + e.transferSize, 0)`
		bytes = eval[int](p, all)
		if goodEnough(best < most) {
			break
		}
	}
	t.Logf("usable after %v; %d bytes", best.Round(time.Millisecond), bytes)
	if bytes > 150_000 || bytes < 10_000 {
		t.Errorf("the page has %d bytes", bytes)
	}
	if measuring() && best > most {
		t.Errorf("it is usable only after %v", best)
	}
}

// view is a page, and what shows that it has its data.
type view struct{ name, hash, complete string }

// views returns every page that depends on the size of the registry, with a name and an owner that it has.
func views(namespace, name, entity string) []view {
	return []view{
		{"overview", "#/", ".namespaces tbody tr"},
		{"names", "#/names", "main tbody tr"},
		{"names of a namespace and state", "#/names?state=active&namespace=" + escaped(namespace), "main tbody tr"},
		{"names of a rare state", "#/names?state=quarantined", "main .empty, main tbody tr"},
		{"names that begin so", "#/names?prefix=" + escaped(name[:min(3, len(name))]), "main .empty, main tbody tr"},
		{"a name", "#/name/" + escaped(namespace) + "/" + escaped(name), "main .timeline svg"},
		{"an entity", "#/entity/" + entity, "main tbody tr"},
		{"playground", "#/playground?namespace=" + escaped(namespace) + "&value=" + escaped(name), ".check .verdict"},
		{"events", "#/events?show=past", "main tbody tr"},
		{"events from a time", "#/events?show=past&from=" + time.Now().Add(-time.Minute).Format("2006-01-02T15:04:05"), "main tbody tr, main .empty"},
		{"conflicts", "#/conflicts", ".heat, .empty"},
		{"suspects", "#/suspects", "main .empty, main tbody tr"},
		{"webhooks", "#/webhooks", "main .empty, main tbody tr"},
		{"policies", "#/policies", "main .settings"},
	}
}

// Lists come in pages, and no page is slower because the registry is large. DIBS_DASHBOARD_STORE names a store to look at instead of a
// new one, such as sqlite:/tmp/dibs-growth/big.db.
func TestManyNames(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), os.Getenv("DIBS_DASHBOARD_STORE")
	if store == "" {
		count := 2_000
		if measuring() {
			count = 50_000
		}
		if os.Getenv("DIBS_TEST_LONG") == "goals" {
			count = 100_000
		}
		store = "sqlite:" + filepath.Join(dir, "dibs.db")
		(&server{dir: dir}).dibs(t, "bench", "load", strconv.Itoa(count), "--callers", "256", "--store", store)
	}
	s := serve(t, dir, "127.0.0.1:0", "--store", store, "--sweep-every", "0s")
	p := open(t, s.url, "#/names?state=active")
	const rows, first = "document.querySelectorAll('main tbody tr').length === 50", "document.querySelector('main tbody tr td:nth-child(2)').innerText"
	p.holds(rows)
	begin := eval[string](p, first)
	p.click("Next")
	p.sees("page 2")
	p.holds("%s && %s !== %s", rows, first, quoted(begin))
	p.click("Back")
	p.holds("%s && %s === %s", rows, first, quoted(begin))
	p.fill("Begins with", "no such name")
	p.sees("No such names")

	const some = `fetch("/v1/names?state=active&limit=40").then((r) => r.json()).then(({ names }) => names.at(-1)).then((n) => [n.namespace, n.canonical, n.entity.type + "/" + n.entity.id + "?scope=" + n.namespace.split(".").slice(0, -1).join(".")])`
	known := eval[[]string](p, some)
	for _, v := range views(known[0], known[1], known[2]) {
		took, slowest := p.visit(v)
		t.Logf("%-32s %4d ms, its slowest call %4d ms", v.name, took, slowest)
		if measuring() && slowest > mostOfACall() {
			t.Errorf("%s: a call takes %d ms", v.name, slowest)
		}
	}
}

// mostOfACall is how many milliseconds a call may take.
func mostOfACall() int { return 200 * allowed() }

// visit goes to a page from an empty one, and waits until no further call ends. It returns the milliseconds until the page has all its
// data, and those of its slowest call: the best of several.
func (p *tab) visit(v view) (took, slowest int) {
	p.Helper()
	const arrive = `new Promise((done, fail) => {
		setTimeout(() => fail(new Error("the page does not show its data")), 60_000);
		performance.clearResourceTimings();
		const began = performance.now();
		location.hash = %s;
		let shown = 0;
		const look = () => {
			if (!shown && document.querySelector(%s)) shown = performance.now();
			const calls = performance.getEntriesByType("resource").filter((e) => e.startTime >= began);
			const complete = Math.max(shown, ...calls.map((e) => e.responseEnd));
			if (!shown || performance.now() - complete < 150) return setTimeout(look, 10);
			done([complete - began, Math.max(0, ...calls.map((e) => e.duration))].map(Math.round));
		};
		look();
	})`
	for i := range tries(5) {
		p.goTo("#/nothing/here")
		p.sees("There is no such page")
		result := eval[[]int](p, arrive, quoted(v.hash), quoted(v.complete))
		if i == 0 {
			took, slowest = result[0], result[1]
		}
		took, slowest = min(took, result[0]), min(slowest, result[1])
		if goodEnough(slowest < mostOfACall()) {
			break
		}
	}
	return took, slowest
}
