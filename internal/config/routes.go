package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/routestore"
)

// routeName is the form of a route's name; package routestore has the same rule.
var routeName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// readRoutes reads the routes of the file, after the store is known.
func (l *loader) readRoutes() {
	patterns, addresses := make(map[string]bool), map[string]string{l.config.Store: engine.DefaultStore}
	for _, s := range l.root.tables("routes") {
		var route engine.Route
		l.readRouteName(s, &route)
		s.scopes(&route, patterns)
		l.readRouteStore(s, &route, addresses)
		s.finish()
		l.config.Routes = append(l.config.Routes, route)
	}
}

func (l *loader) readRouteName(s *section, route *engine.Route) {
	s.text("name", &route.Name)
	switch {
	case !s.has("name"):
		s.report("", "needs a name, which must never change")
	case !routeName.MatchString(route.Name):
		s.report("name", "must be 1 to 32 of a-z, 0-9, '-' and '_', and begin with a letter or a digit")
	case route.Name == engine.DefaultStore:
		s.report("name", "%q is reserved for store, which has all other scopes", engine.DefaultStore)
	}
	if route.Name != "" && slices.ContainsFunc(l.config.Routes, func(r engine.Route) bool { return r.Name == route.Name }) {
		s.report("name", "duplicate name %q: give one route all scopes", route.Name)
	}
}

func (s *section) scopes(route *engine.Route, taken map[string]bool) {
	route.Scopes = s.list("scopes")
	if !s.has("scopes") {
		s.report("", `needs scopes, such as ["acme", "globex.*"]; [] if it no longer has any`)
	}
	for i, pattern := range route.Scopes {
		switch err := routestore.CheckPattern(pattern); {
		case err != nil:
			s.reportElement("scopes", i, "%s", strings.TrimPrefix(err.Error(), "routestore: "))
		case pattern == routestore.Everything:
			s.reportElement("scopes", i, `all other scopes are in store: remove "*"`)
		case taken[pattern]:
			s.reportElement("scopes", i, "duplicate scope %q", pattern)
		}
		taken[pattern] = true
	}
}

// readRouteStore reads the address from the file itself, or from another file.
func (l *loader) readRouteStore(s *section, route *engine.Route, taken map[string]string) {
	var path string
	s.text("store", &route.Store)
	s.filePath("storeFile", &path)
	key, err := "store", error(nil)
	switch {
	case s.has("store") == s.has("storeFile"):
		key, err = "", errors.New("must have exactly one of store and storeFile")
	case s.has("storeFile"):
		key = "storeFile"
		route.Store, err = readSecret(path)
	}
	if err == nil {
		err = engine.Check(route.Store)
	}
	other, twice := taken[route.Store]
	switch {
	case err != nil:
		s.report(key, "%v", err)
	case (route.Store == "mem:") != (l.config.Store == "mem:"):
		s.report(key, "use mem: for all stores or for none: only names in memory are lost with the process")
	case twice && route.Store != "mem:":
		s.report(key, "is also the store of %q", other)
	}
	taken[route.Store] = route.Name
}
