package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/authtest"
)

// lines returns the number of log lines at the default level.
func (r *rig) lines() int {
	return strings.Count(r.log.String(), "\n") - strings.Count(r.log.String(), `"level":"DEBUG"`)
}

// While a dependency of the server is down, anonymous requests do not flood the log: it has the
// outage, not each request.
func TestAnonymousRequestsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	const requests, few = 300, 10
	for what, c := range map[string]struct {
		fail   func(g *signInRig)
		path   string
		secret func(g *signInRig, i int) string
	}{
		"made-up tokens of an issuer that is down": {
			func(g *signInRig) { g.issuer.Down.Store(true) }, "/v1/check/slug/a",
			func(g *signInRig, i int) string {
				return g.issuer.Token(g, fmt.Sprint("stranger-", i), authtest.Claims{}) + "x"
			},
		},
		"made-up keys while the engine is down": {
			func(g *signInRig) { g.store.mode.Store(outOfReach) }, "/v1/check/slug/a",
			func(g *signInRig, i int) string {
				known := g.secrets["key alice"]
				return known[:len(known)-2] + string(rune('a'+i/26)) + string(rune('a'+i%26))
			},
		},
		"pings of an engine that is down": {
			func(g *signInRig) { g.store.mode.Store(outOfReach) }, "/readyz",
			func(*signInRig, int) string { return "" },
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := newSignInRig(t, visitors{"alice": {{Verbs: verbs(access.Read), Namespaces: []string{"*"}}}})
			seen, _ := g.as("key", "alice")
			c.fail(g)
			before, unavailable := g.lines(), 0
			for i := range requests {
				header := make(http.Header)
				if secret := c.secret(g, i); secret != "" {
					header.Set("Authorization", "Bearer "+secret)
				}
				if res, _ := seen.send(http.MethodGet, c.path, header, ""); res.status == http.StatusServiceUnavailable {
					unavailable++
				}
			}
			g.store.mode.Store(works)
			if unavailable != requests {
				t.Errorf("%d of %d are unavailable", unavailable, requests)
			}
			if n := g.lines() - before; n == 0 || n > few {
				t.Errorf("%d lines for %d requests, want 1 to %d:\n%.2000s", n, requests, few, g.log.String())
			}
		})
	}
}
