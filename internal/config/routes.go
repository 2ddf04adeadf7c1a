package config

import (
	"errors"
	"regexp"
	"strings"

	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/routestore"
)

// routeName is what a route may be called; package routestore has the same rule.
var routeName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// readRoutes takes the routes from the file. They come after the store is known.
func (l *loader) readRoutes() {
	if l.file == nil {
		return
	}
	patterns, addresses := make(map[string]bool), map[string]string{l.config.Store: engine.DefaultStore}
	for _, s := range l.file.routes {
		var route engine.Route
		l.readRouteName(s, &route)
		l.readScopes(s, &route, patterns)
		l.readRouteStore(s, &route, addresses)
		s.finish()
		l.config.Routes = append(l.config.Routes, route)
	}
}

func (l *loader) readRouteName(s *section, route *engine.Route) {
	s.text("name", &route.Name)
	switch {
	case !s.has("name"):
		s.report("", "needs a name, which must stay the same for ever")
	case !routeName.MatchString(route.Name):
		s.report("name", "must be 1 to 32 of a-z, 0-9, '-' and '_', and begin with a letter or a digit")
	case route.Name == engine.DefaultStore:
		s.report("name", "%q is what store is called, which has all other scopes", engine.DefaultStore)
	}
	for _, other := range l.config.Routes {
		if other.Name == route.Name && route.Name != "" {
			s.report("name", "two routes are called %q: give one of them all scopes", route.Name)
		}
	}
}

func (l *loader) readScopes(s *section, route *engine.Route, taken map[string]bool) {
	s.texts("scopes", &route.Scopes)
	if !s.has("scopes") {
		s.report("", `needs scopes, such as ["acme", "globex.*"]; [] if it has none any more`)
	}
	for i, pattern := range route.Scopes {
		at := s.where(element(join(s.path, "scopes"), i))
		switch err := routestore.CheckPattern(pattern); {
		case err != nil:
			l.report(at, "%s", strings.TrimPrefix(err.Error(), "routestore: "))
		case pattern == routestore.Everything:
			l.report(at, `all other scopes are in store: leave "*" out`)
		case taken[pattern]:
			l.report(at, "%q is there twice", pattern)
		}
		taken[pattern] = true
	}
}

// readRouteStore takes the address from the file itself, or from another one.
func (l *loader) readRouteStore(s *section, route *engine.Route, taken map[string]string) {
	var path string
	s.text("store", &route.Store)
	s.text("storeFile", &path)
	key, err := "store", error(nil)
	switch {
	case s.has("store") == s.has("storeFile"):
		key, err = "", errors.New("must have exactly one of store and storeFile")
	case s.has("storeFile"):
		key = "storeFile"
		route.Store, err = readSecret(l.file.beside(path))
	}
	if err == nil {
		err = engine.Check(route.Store)
	}
	other, twice := taken[route.Store]
	switch {
	case err != nil:
		s.report(key, "%v", err)
	case (route.Store == "mem:") != (l.config.Store == "mem:"):
		s.report(key, "names in memory are gone with the process, and those in other stores are not: use mem: for all stores or for none")
	case twice && route.Store != "mem:":
		s.report(key, "is the store of %q as well", other)
	}
	taken[route.Store] = route.Name
}
