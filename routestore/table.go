package routestore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// Everything is the pattern of the part that has all scopes which no other part has.
const Everything = "*"

// Route gives scopes to a part.
type Route struct {
	// Name is the part's identity: 1 to 32 of a-z, 0-9, '-' and '_'. It is on record in the
	// part, and must stay the same.
	Name string
	// Scopes are patterns of the scopes that the part has: "acme" is that one, "acme.*" is
	// acme and all below it, and [Everything] all that no other pattern means. Of several
	// that mean a scope the most specific one counts, wherever it stands. None means that
	// the part has no scope, and could be left out next time.
	Scopes []string
	// Store is the part's engine.
	Store dibs.Store
}

// table says which part has which scope. It never changes.
type table struct {
	names []string       // of the parts
	rest  int            // the part with Everything
	exact map[string]int // "acme"
	below map[string]int // "acme" of "acme.*"
	text  string         // the whole of it; two tables that mean the same have the same
}

var partName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

func newTable(routes []Route) (*table, error) {
	t := &table{rest: -1, exact: make(map[string]int), below: make(map[string]int)}
	for i, route := range routes {
		switch {
		case !partName.MatchString(route.Name):
			return nil, fmt.Errorf("routestore: %q is no name of a part: use 1 to 32 of a-z, 0-9, '-' and '_'", route.Name)
		case slices.Contains(t.names, route.Name):
			return nil, fmt.Errorf("routestore: two routes are called %q: give one route all of its scopes", route.Name)
		}
		t.names = append(t.names, route.Name)
		for _, pattern := range route.Scopes {
			if err := t.add(pattern, i); err != nil {
				return nil, err
			}
		}
	}
	if t.rest < 0 {
		return nil, fmt.Errorf("routestore: no route has %q, so most scopes have no home", Everything)
	}
	t.text = describe(routes)
	return t, nil
}

func (t *table) add(pattern string, part int) error {
	if err := CheckPattern(pattern); err != nil {
		return err
	}
	var taken bool
	scope, below := strings.CutSuffix(pattern, ".*")
	switch {
	case pattern == Everything:
		taken = t.rest >= 0
		t.rest = part
	case below:
		_, taken = t.below[scope]
		t.below[scope] = part
	default:
		_, taken = t.exact[scope]
		t.exact[scope] = part
	}
	if taken {
		return fmt.Errorf("routestore: the pattern %q is there twice", pattern)
	}
	return nil
}

// CheckPattern says what is wrong with a pattern of scopes.
func CheckPattern(pattern string) error {
	if pattern == Everything {
		return nil
	}
	scope := strings.TrimSuffix(pattern, ".*")
	if !isScope(scope) {
		return fmt.Errorf(`routestore: %q is no pattern of scopes: write "acme" for the scope acme, "acme.*" for acme and all below it, or "*" for all others`, pattern)
	}
	return nil
}

// What a scope is made of; package dibs has the same rules. A namespace has up to eight
// segments, and the last one is its type.
var scopePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}(\.[a-z0-9][a-z0-9_-]{0,62}){0,6}$`)

func isScope(text string) bool { return scopePattern.MatchString(text) }

// describe writes routes down, always in the same order.
func describe(routes []Route) string {
	scopes := make(map[string][]string)
	for _, route := range routes {
		scopes[route.Name] = append([]string{}, route.Scopes...)
		slices.Sort(scopes[route.Name])
	}
	text, err := json.Marshal(scopes) // sorted by name
	if err != nil {
		panic(err) // plain texts
	}
	return string(text)
}

// parse reads what describe wrote; nothing is no routes.
func parse(text string) (scopes map[string][]string, err error) {
	if err := json.Unmarshal([]byte(cmp.Or(text, "{}")), &scopes); err != nil {
		return nil, errors.New("routestore: the routes on record cannot be read: open the store with the version that wrote them")
	}
	return scopes, nil
}

// partOf returns which part has a scope: by its own pattern, by that of the nearest scope
// above it, or the rest. What has no scope is always with the rest, and so is all that the
// registry keeps about itself.
func (t *table) partOf(scope string) int {
	if part, ok := t.exact[scope]; ok {
		return part
	}
	for scope != "" {
		if part, ok := t.below[scope]; ok {
			return part
		}
		scope = scope[:max(0, strings.LastIndexByte(scope, '.'))]
	}
	return t.rest
}

// mayFollow says why the table must not take the place of one on record: what is in a part
// that it leaves out would be free elsewhere, and so would what belongs to no scope if
// another part had the rest.
func (t *table) mayFollow(former map[string][]string) error {
	for name, scopes := range former {
		switch {
		case len(scopes) > 0 && !slices.Contains(t.names, name):
			return fmt.Errorf("routestore: the part %q is missing, which has %s by the routes on record: add it again; "+
				"if there is nothing in it, open it once with no scopes, and then leave it out", name, strings.Join(scopes, ", "))
		case slices.Contains(scopes, Everything) && t.names[t.rest] != name:
			return fmt.Errorf("routestore: all other scopes are in the part %q by the routes on record, and cannot be in %q now: "+
				"what belongs to no scope is there too", name, t.names[t.rest])
		}
	}
	return nil
}
