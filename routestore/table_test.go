package routestore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
)

func route(name string, scopes ...string) routestore.Route {
	return routestore.Route{Name: name, Scopes: scopes, Store: memstore.New(memstore.Config{})}
}

// The most specific pattern wins, in any order of routes.
func TestPartOf(t *testing.T) {
	t.Parallel()
	store := open(t, route("rest", "*"), route("acme", "acme.*"), route("eu", "acme.eu"), route("de", "acme.eu.de.*", "globex"))
	defer end(t, store)
	for scope, want := range map[string]string{
		"":                "rest",
		"other":           "rest",
		"other.acme":      "rest",
		"acme":            "acme",
		"acme2":           "rest",
		"acme-eu":         "rest",
		"acme.us":         "acme",
		"acme.us.ny":      "acme",
		"acme.eu":         "eu",
		"acme.eu.fr":      "acme",
		"acme.eu.de":      "de",
		"acme.eu.de.muc":  "de",
		"acme.eu.de2":     "acme",
		"globex":          "de",
		"globex.anything": "rest",
	} {
		if got := store.Parts()[store.PartOf(scope)].Name; got != want {
			t.Errorf("%q is in %s, want %s", scope, got, want)
		}
	}
}

func TestBadRoutes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for says, routes := range map[string][]routestore.Route{
		"no route has the scope":                  {route("a", "acme")},
		"two routes have the name":                {route("a", "*"), route("a", "acme")},
		`"*" occurs twice`:                        {route("a", "*"), route("b", "*")},
		`"acme.*" occurs twice`:                   {route("a", "*"), route("b", "acme.*"), route("c", "acme.*")},
		`invalid part name "Eu"`:                  {route("Eu", "*")},
		`invalid part name ""`:                    {route("", "*")},
		`invalid scope pattern "Acme"`:            {route("a", "*", "Acme")},
		`invalid scope pattern ""`:                {route("a", "*", "")},
		`invalid scope pattern "*.acme"`:          {route("a", "*", "*.acme")},
		`invalid scope pattern "acme.*.eu"`:       {route("a", "*", "acme.*.eu")},
		`invalid scope pattern "acme*"`:           {route("a", "*", "acme*")},
		`invalid scope pattern "a.b.c.d.e.f.g.h"`: {route("a", "*", "a.b.c.d.e.f.g.h")},
		`invalid scope pattern "` + long + `.*"`:  {route("a", "*", long+".*")},
		`the route "b" has no Store`:              {route("a", "*"), {Name: "b"}},
		`no route has the scope "*"`:              nil,
	} {
		_, err := routestore.Open(context.Background(), routestore.Config{Routes: routes})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q in it", err, says)
		}
	}
}
