package dashboard_test

import (
	"os"
	"strconv"
	"testing"
)

// Long lists come in pages, and every page of a large registry is there at once.
func TestManyNames(t *testing.T) {
	count := 5_000
	if os.Getenv("DIBS_TEST_LONG") != "" {
		count = 100_000
	}
	s := &server{dir: t.TempDir()}
	s.dibs(t, "bench", "load", strconv.Itoa(count), "--callers", "256", "--store", "sqlite:dibs.db")
	s = serve(t, s.dir, "127.0.0.1:0")
	p := open(t, s.url, "#/names?namespace=bench.slug")
	const rows, first = "document.querySelectorAll('main tbody tr').length === 50", "document.querySelector('main tbody tr').innerText"
	p.holds(rows)
	begin := eval[string](p, first)
	p.click("Next")
	p.sees("page 2")
	p.holds("%s && %s !== %s", rows, first, quoted(begin))
	p.click("Back")
	p.holds("%s && %s === %s", rows, first, quoted(begin))
	p.fill("Begins with", "no such name")
	p.sees("No such names")
	p.goTo("#/")
	p.sees("bench.slug")
	for _, hash := range []string{"#/names?namespace=bench.slug&state=active", "#/", "#/conflicts", "#/suspects"} {
		p.goTo("#/policies")
		p.sees("Limits")
		p.goTo(hash)
		p.holds("document.querySelector('main table, main .empty, main .figures')")
		t.Logf("%s: %d ms for the slowest call", hash, eval[int](p, "Math.round(Math.max(0, ...performance.getEntriesByType('resource').filter((e) => !e.name.includes('/events')).map((e) => e.duration)))"))
		eval[bool](p, "(performance.clearResourceTimings(), true)")
	}
}
